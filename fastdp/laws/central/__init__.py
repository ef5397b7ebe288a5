"""Laws of additive noise: Laplace and geometric, Gaussian, staircase, and where their noise is added."""
