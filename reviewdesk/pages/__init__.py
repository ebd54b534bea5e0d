"""A run as files for people: a page to read in a browser, and a summary for a pull request."""
