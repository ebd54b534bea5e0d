"""Use cases of reviewing: items, filters, search, marks, history and runs."""
