"""Several reviewers on one desk: who has which item open, how far they agree, what settles it."""
