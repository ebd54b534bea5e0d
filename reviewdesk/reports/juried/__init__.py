"""The reader of juried's reports and label queues."""
