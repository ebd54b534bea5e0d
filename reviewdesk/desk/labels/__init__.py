"""Labels that leave the desk and labels that enter it."""
