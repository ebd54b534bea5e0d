"""A live panel: its jurors, prompts, cases, costs and re-runs."""
