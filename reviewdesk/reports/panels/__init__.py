"""Panel, prompt and cases files of live panels."""
