"""The console in a browser: access control, and one process of the app for each page."""
