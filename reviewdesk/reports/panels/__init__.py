"""Read the panel, prompt and cases files of live panels."""
