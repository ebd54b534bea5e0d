"""Time and chance as the machine has them."""

from __future__ import annotations

import asyncio
import random
import time
from datetime import UTC, datetime


class SystemClock:
    """The clock of live panels outside tests."""

    def now(self) -> datetime:
        """The time in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)

    def random(self) -> float:
        """A number from 0 up to, and without, 1."""
        return random.random()  # noqa: S311 - it spreads retries
