"""The ballots of a whole run as columns, and what is computed from them."""
