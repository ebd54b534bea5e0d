"""Ask panels at real endpoints: build requests, read replies, and make ballots from them."""
