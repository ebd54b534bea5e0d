"""The simulation of tries: what the docs say of it, and the promise that it keeps."""

import re

import pytest

from benchmarks.improve import tables
from tests.helpers import ROOT


@pytest.mark.slow
def test_changes_that_do_nothing_are_called_better_on_at_most_one_desk_in_twenty() -> None:
    text = (ROOT / "docs" / "reference" / "measured.md").read_text(encoding="utf-8")
    idle, _, gains = tables()
    shares = [float(one) for one in re.findall(r"([0-9.]+)%", idle)]
    assert len(shares) == 20
    assert max(shares) <= 5
    assert [one for one in (idle, gains) if one not in text] == []
