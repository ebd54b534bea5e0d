"""One verdict recomputed from its ballots, with its flags and the reasons for them."""
