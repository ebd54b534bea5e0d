"""What the tokens of a model cost."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

CACHE_WRITE = 1.25
"""What a token that is written to a vendor's cache costs, in tokens of input, at the vendors that
count them (Anthropic and OpenAI)."""


BATCH_SHARE = 0.5
"""What a call in a vendor's batch costs, as a share of its price."""


class Price(Struct, frozen=True):
    """The price of a model, in US dollars per million tokens.

    Without a price of ``cached`` tokens, those that a vendor read from its cache cost as others.
    """

    input: float
    output: float
    cached: float | None = None
    as_of: str | None = None
    """The date of the table that it comes from; ``None`` if the panel states it."""

    @property
    def in_batch(self) -> Price:
        """The price of calls in a batch: half, at every vendor whose batch interface is used."""
        cached = None if self.cached is None else BATCH_SHARE * self.cached
        return replace(
            self, input=BATCH_SHARE * self.input, output=BATCH_SHARE * self.output, cached=cached
        )

    def cost(self, tokens_in: int, tokens_out: int, cached: int = 0, written: int = 0) -> float:
        """Return the cost of one call in US dollars; ``tokens_in`` counts all that was read.

        Tokens of byte-level vocabularies are one byte or longer, so the bytes sent and the most
        tokens answered give the most that a call can cost without a cache.
        """
        rest = max(0, tokens_in - cached - written)
        read = (rest + CACHE_WRITE * written) * self.input
        read += cached * (self.input if self.cached is None else self.cached)
        return (read + tokens_out * self.output) / 1_000_000
