"""Beyond maximum likelihood: candidates from smooth to sparse, and the choice between them."""
