"""The system's clock and random numbers."""

from __future__ import annotations

import asyncio
import random
import time
from datetime import UTC, datetime


class SystemClock:
    """The clock that live panels use outside tests."""

    def now(self) -> datetime:
        """Return the current time in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return seconds on a clock that never goes back."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait for so many seconds."""
        await asyncio.sleep(seconds)

    def random(self) -> float:
        """Return a random number from 0 up to but not including 1."""
        return random.random()  # noqa: S311 - it spreads retries
