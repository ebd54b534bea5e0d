"""The reader of mcptest reports, which finds juries by their structure."""
