"""A panel that is asked: its jurors, prompts, cases, costs and re-runs."""
