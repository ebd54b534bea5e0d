"""Views: what is said of a run, a judge, a juror or a verdict, as documents without a toolkit."""
