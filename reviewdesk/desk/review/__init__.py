"""The use cases of a review: items, filters, search, marks, history and runs."""
