"""Several reviewers on one desk: open items, agreement, and how disagreements are settled."""
