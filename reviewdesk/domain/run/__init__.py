"""The ballots of a whole run as columns, and the figures computed from them."""
