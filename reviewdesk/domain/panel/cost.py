"""The cost of calls in US dollars: the most they can cost, and the cost by counted tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reviewdesk.domain.panel.spec import Price

_PRICE_UNIT = 1_000_000
"""Prices are per million tokens."""


def worst_case(price: Price, bytes_in: int, max_tokens: int) -> float:
    """Return the most that one call can cost: a token per byte sent, and ``max_tokens`` answered.

    Tokens of byte-level vocabularies are one byte or longer, so a text never has more tokens than
    bytes.
    """
    return spent(price, bytes_in, max_tokens)


def spent(price: Price, tokens_in: int, tokens_out: int) -> float:
    """Return the cost of a call from the tokens that the endpoint counted."""
    return (tokens_in * price.input + tokens_out * price.output) / _PRICE_UNIT
