"""Work off the screen's thread: jobs, re-runs and figures."""
