"""How sure an estimate is: spread, certified bounds of functionals, and quantiles."""
