"""Work that is spread over processes and machines; functions come from outside."""
