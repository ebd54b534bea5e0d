"""The console in a browser: who may come in, and a process of the app behind each page."""
