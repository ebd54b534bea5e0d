"""Panels against real endpoints: what is sent, what comes back, and what a ballot is made of."""
