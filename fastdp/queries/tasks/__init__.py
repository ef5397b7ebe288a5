"""The kinds of queries: what each needs of the budget, of the data, and how sums become answers."""
