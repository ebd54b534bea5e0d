"""Pure rules and statistics of juries: no input or output, no clock, no globals."""
