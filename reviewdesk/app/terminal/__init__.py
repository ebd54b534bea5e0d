"""What is sent to the terminal: the cells that change, and nothing else."""
