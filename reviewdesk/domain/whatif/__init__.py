"""Other rules, tried on one verdict and over a run."""
