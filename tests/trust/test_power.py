"""A loss of power keeps every acknowledged label, and would not without the syncs."""

import random
from pathlib import Path

import pytest
from trusting import power
from trusting.rows import loaded

pytestmark = pytest.mark.skipif(not power.can_trace(), reason="strace cannot be used here")


def lost(folder: Path, mode: str, labels: int, losses: int) -> tuple[int, int]:
    base, steps = power.recorded(loaded(folder / "desk", 5), labels, mode)
    assert sum(step.kind == "ack" for step in steps) == labels
    return power.losses_of(folder / "left", base, steps, losses, random.Random(1))  # noqa: S311


@pytest.mark.slow
def test_no_acknowledged_label_is_lost_with_the_power(tmp_path: Path) -> None:
    assert lost(tmp_path, "FULL", 5, 12) == (0, 0)


@pytest.mark.slow
def test_without_the_syncs_labels_are_lost(tmp_path: Path) -> None:
    assert lost(tmp_path, "NORMAL", 8, 20)[0] > 0
