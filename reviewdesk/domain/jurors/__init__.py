"""Each juror against people, against the other jurors, and over time."""
