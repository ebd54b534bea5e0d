"""Malformed input at the terminal's edge: the driver drops it, and the key behind it arrives."""

from __future__ import annotations

import random

import pytest

from tests.app.terminal.test_input import BrowserKeys, TypedKeys, malformed, pressed
from trusting.rows import FaultRow

_ROUND = 500


def row(count: int, seed: int = 1) -> FaultRow:
    """Send so many sequences to each driver, with a key after every few hundred."""
    dice, deaf, faults = random.Random(seed), 0, 0
    with pytest.MonkeyPatch.context() as patch:
        keys, page = TypedKeys(), BrowserKeys(patch)
        for _ in range(-(-count // _ROUND)):
            sent = [*malformed(dice, _ROUND), b"k"]
            packets = [(b"D", one) for one in sent]
            for driver, given in ((keys.of, sent), (page.of, packets)):
                try:
                    deaf += pressed(driver(*given))[-1:] != ["k"]  # type: ignore[arg-type]
                except Exception:  # noqa: BLE001 - any is a finding
                    faults += 1
                    keys = TypedKeys()
    return FaultRow(
        f"{count:,} malformed sequences of input, each to both drivers",
        "0 crashes, and the key behind them arrives",
        f"{faults} crashes, {deaf} keys missed",
        not faults and not deaf,
        ("terminal", "browser"),
    )
