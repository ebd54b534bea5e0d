"""Write runs as reports and as pages."""
