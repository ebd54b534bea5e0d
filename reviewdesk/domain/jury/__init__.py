"""How the ballots of a jury become a decision."""
