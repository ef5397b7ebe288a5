"""How jobs are measured: the clock, the machine's own limits, yardsticks, curves, and verdicts on two runs."""
