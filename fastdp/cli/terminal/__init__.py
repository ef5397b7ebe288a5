"""The terminal: progress and notes on the screen, charts of text, and the signals that end a command."""
