"""One set of rows, measured in full."""

from __future__ import annotations

import pytest

from reviewdesk.domain.stats.calibration import Rows
from reviewdesk.domain.stats.reliability import fit


def test_the_documents_eight_rows() -> None:
    confidence = [0.95, 0.90, 0.82, 0.55, 0.52, 0.15, 0.10, 0.05]
    found = fit(Rows.of(confidence, [True] * 4 + [False] * 4))
    # Five bins hold one or two rows; |sum of (confidence - right)| over them is
    # .15 + .18 + .07 + .25 + .05 = .70, over eight rows .0875. Every right row is surer than every
    # wrong one, so the ranking is perfect.
    assert found.n == 8
    assert found.ece == pytest.approx(0.0875)
    assert found.auroc == 1.0
    assert sum(one.n for one in found.bins) == 8
    assert found.null is not None
    assert 0 < found.null.p <= 1


def test_no_rows_leave_everything_undefined() -> None:
    found = fit(Rows.of([], []))
    assert (found.n, found.bins, found.auroc, found.brier) == (0, (), None, None)
    assert found.spiegelhalter.reason is not None
