"""Copy a desk file, and rescue the readable parts of a damaged one."""
