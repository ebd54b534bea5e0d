"""Write a run as files for people: an HTML page, and a Markdown summary for a pull request."""
