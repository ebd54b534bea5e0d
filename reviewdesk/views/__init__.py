"""Views: describe runs, judges, jurors and verdicts as documents that depend on no toolkit."""
