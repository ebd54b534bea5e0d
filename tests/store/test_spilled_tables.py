"""Tables of ranks that are too large for memory come back from their file, as often as asked."""

from __future__ import annotations

import numpy as np

from reviewdesk.domain.stats.ranks import RankTable
from reviewdesk.store.measures import spilled_tables


def test_tables_come_back_from_a_file() -> None:
    # Of 2 MB each, so that neither stays in memory.
    values = np.arange(1 << 18, dtype=np.float64)
    with spilled_tables() as tables:
        assert list(tables) == []
        for below in (1, 2):
            tables.append(RankTable(values * below, values, below))
        for _ in range(2):
            found = list(tables)
            assert [table.below for table in found] == [1, 2]
            assert (found[1].values == values * 2).all()
