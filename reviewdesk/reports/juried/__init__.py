"""Reports and label queues of juried."""
