"""What calls cost, in US dollars: before they are made at most, and afterwards by their tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reviewdesk.domain.panel.spec import Price

_PER = 1_000_000
"""Prices are per million tokens."""


def worst_case(price: Price, bytes_in: int, max_tokens: int) -> float:
    """The most that one call can cost: a token for every byte sent, and every token of the answer.

    Tokens of byte-level vocabularies are one byte or longer, so a text never has more tokens than
    bytes.
    """
    return spent(price, bytes_in, max_tokens)


def spent(price: Price, tokens_in: int, tokens_out: int) -> float:
    """What a call cost by the tokens that the endpoint counted."""
    return (tokens_in * price.input + tokens_out * price.output) / _PER
