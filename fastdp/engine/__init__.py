"""Run a law over a column: slots from the Rng, blocks for the threads, working memory."""
