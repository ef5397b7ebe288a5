"""What is measured: each job, its input and the law its output must follow. Nothing here times anything."""
