"""The simulation of tries, and the promise that it keeps."""

import re

import pytest

from benchmarks.improve import tables


@pytest.mark.slow
def test_changes_that_do_nothing_are_called_better_on_at_most_one_desk_in_twenty() -> None:
    idle, *_ = tables(desks=100)
    shares = [float(one) for one in re.findall(r"([0-9.]+)%", idle)]
    assert len(shares) == 20
    # The seed is fixed; the published table is of 2,000 desks, where the largest is 3.3%.
    assert max(shares) <= 5
