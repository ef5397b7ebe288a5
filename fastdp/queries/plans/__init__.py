"""release.toml: what is asked and from which budget, what it will cost, and its run with ledger and receipt."""
