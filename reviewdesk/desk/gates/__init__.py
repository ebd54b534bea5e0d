"""Check reports, runs and labels files against suites."""
