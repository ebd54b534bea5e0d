import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.domain.jurors.drift import Offsets, drifts, earlier, offsets, seats, welch
from reviewdesk.domain.jurors.facts import Windows
from reviewdesk.domain.run.columns import Columns
from reviewdesk.domain.stats.dense import Moments
from tests.domain.bodies import body, columns, juror, panel, read

VALUES = st.lists(st.integers(-50, 50).map(lambda step: step / 50), max_size=30)


def laid_out(*bodies: dict[str, object]) -> Columns:
    """The bodies as columns, with keys 100, 101, ..."""
    verdicts = [read(one, threshold=0.5) for one in bodies]
    return columns((100 + i, verdict) for i, verdict in enumerate(verdicts))


def of(**values: list[float]) -> Offsets:
    """Offsets by juror, of verdicts with the keys 0, 1, ...; a juror that has fewer begins late."""
    most = max(map(len, values.values()))
    columns = [[math.nan] * (most - len(one)) + one for one in values.values()]
    return Offsets(tuple(values), np.arange(most), np.array(columns).T)


def test_an_offset_is_from_the_others_alone_at_whatever_seat() -> None:
    # j0: .9 - (.5 + .1)/2 = .6, then .4 - .6 = -.2 (j2 timed out), and alone on the third.
    found = offsets(laid_out(panel(0.9, 0.5, 0.1), panel(0.4, 0.6, None), panel(0.3, None, None)))
    assert found.of("j0") == pytest.approx([0.6, -0.2])
    assert found.keys.tolist() == [100, 101]
    # j1: .5 - (.9 + .1)/2 = 0, .6 - .4 = .2; j2: .1 - .7.
    assert found.of("j1") == pytest.approx([0.0, 0.2])
    assert found.of("j2") == pytest.approx([-0.6])
    found = offsets(
        laid_out(
            body(juror("a", 0.9), juror("b", 0.4)),
            body(juror("b", 0.2), juror("a", 0.3), juror("a", 0.9)),
        )
    )
    # The second a of the second panel is a#2: .9 - (.2 + .3)/2; a itself .3 - (.2 + .9)/2.
    assert found.of("a") == pytest.approx([0.5, -0.25])
    assert found.of("b") == pytest.approx([-0.5, -0.4])
    assert found.of("a#2") == pytest.approx([0.65])


def test_nobody_beside_the_juror_gives_no_offset() -> None:
    for found in (laid_out(panel(0.9), panel(0.4, None)), laid_out()):
        assert len(offsets(found).keys) == 0


def test_seats_and_failures_are_counted_over_the_whole_run() -> None:
    found = seats(
        laid_out(
            body(juror("a", 0.9), juror("b", status="parse_fail")),
            body(juror("b", status="timeout"), juror("a", status="abstained")),
            body(juror("c"), juror("b", status="parse_fail")),
        ),
        [(100, 1), (102, 1)],
    )
    a, b, c = found["a"], found["b"], found["c"]
    assert (a.first, a.seats, a.failed, a.parse_failed) == (0, 2, 0, 0)
    assert (b.first, b.seats, b.failed, b.parse_failed) == (0, 3, 3, 2)
    # Without an answer or an error a juror abstained.
    assert (c.first, c.seats, c.failed, c.parse_failed) == (0, 1, 0, 0)


@given(VALUES, VALUES)
def test_moments_merge_to_those_of_the_whole(one: list[float], two: list[float]) -> None:
    merged, whole = Moments.of(one).merge(Moments.of(two)), Moments.of([*one, *two])
    assert merged.n == whole.n
    assert (merged.mean, merged.squares) == pytest.approx((whole.mean, whole.squares), abs=1e-12)


def test_welch_by_hand() -> None:
    # Means 2 and 6, variances 1 and 4, three and four values (4, 6, 6, 8 has 8/3).
    found = welch(Moments.of([1, 2, 3]), Moments.of([4, 6, 6, 8]))
    assert found is not None
    parts = 1 / 3, (8 / 3) / 4
    low, high, t, df, p = found
    assert t == pytest.approx(4 / math.sqrt(sum(parts)))
    # (1/3 + 2/3)² / ((1/3)²/2 + (2/3)²/3) = 1 / (1/18 + 4/27) = 54/11.
    assert df == pytest.approx(54 / 11)
    # Tables: t of 4 and 5 degrees pass .02 at 3.747 and 3.365, and .01 at 4.604 and 4.032.
    assert 0.01 < p < 0.02
    # The interval at .95 leaves out 0, as p is under .05; its middle is the difference of means.
    assert low + high == pytest.approx(8)
    # t of 4.9 degrees is 2.59 at .975: between those of 4 and 5, 2.776 and 2.571.
    assert 2.571 < (4 - low) / math.sqrt(sum(parts)) < 2.776


@pytest.mark.parametrize(("one", "two"), [([1.0], [1.0, 2.0]), ([], []), ([1.0] * 3, [2.0] * 3)])
def test_welch_needs_two_values_and_some_variation(one: list[float], two: list[float]) -> None:
    assert welch(Moments.of(one), Moments.of(two)) is None


EVEN = [0.1, -0.1] * 10


def test_without_earlier_runs_the_halves_are_compared() -> None:
    found = drifts(of(a=[*EVEN, *(value + 0.4 for value in EVEN)]))["a"]
    # The first mean is 0, the second 0.4; together 0.2.
    assert found.mean == pytest.approx(0.2)
    assert found.n == 40
    drift = found.drift
    assert drift is not None
    assert (drift.windows, drift.runs, drift.before, drift.after) == (Windows.HALVES, 0, 20, 20)
    assert drift.change == pytest.approx(0.4)
    assert drift.q == drift.p
    assert drift.p is not None
    assert drift.p < 1e-9
    # Standardised by 0.1026 the steps are 4.87 and 2.92 by turns, each less 0.5: 4.37, 6.80, 11.2,
    # 13.6, ... The first window has 20 verdicts, so its keys go from 20 on.
    assert drift.limit is not None
    place = next(i for i in range(20) if 3.39 * (i + 1) + 0.98 * ((i + 1) % 2) > drift.limit)
    assert drift.alarm == 20 + place


def test_earlier_runs_come_first() -> None:
    past = earlier(
        [
            laid_out(panel(0.6, 0.5), panel(0.4, 0.5)),
            laid_out(body(juror("b", 0.5), juror("c", 0.4))),
            laid_out(panel(0.8, 0.5)),
        ],
        ("j1", "j0"),
    )
    # The panel of b and c is another one: beside it an offset would be another offset.
    assert "b" not in past.jurors
    runs, moments = past.jurors["j0"]
    # Offsets .1, -.1 and .3, and of j1 the same turned round; the columns are j1 and j0.
    assert (runs, moments.n) == (2, 3)
    assert moments.mean == pytest.approx(0.1)
    assert past.rows == pytest.approx(np.array([[-0.1, 0.1], [0.1, -0.1], [-0.3, 0.3]]))
    found = drifts(of(j0=[0.5, 0.7], new=[0.1, 0.3, 0.2, 0.2]), past)
    drift, new = found["j0"].drift, found["new"].drift
    assert drift is not None
    assert new is not None
    assert (drift.windows, drift.runs, drift.before, drift.after) == (Windows.EARLIER, 2, 3, 2)
    assert drift.change == pytest.approx(0.5)
    assert (new.windows, new.before, new.after) == (Windows.HALVES, 2, 2)
    # Two p values, adjusted together: the smaller is doubled, if the other allows.
    assert drift.p is not None
    assert new.p is not None
    assert drift.q == pytest.approx(min(2 * drift.p, new.p) if drift.p < new.p else drift.p)
    # Three offsets settle nothing for CUSUM.
    assert drift.alarm is None


def test_one_verdict_is_no_window_and_no_variation_has_no_test() -> None:
    found = drifts(of(a=[0.2]))["a"]
    assert (found.mean, found.n, found.drift) == (0.2, 1, None)
    drift = drifts(of(a=[0.1] * 20 + [0.3] * 20))["a"].drift
    assert drift is not None
    assert drift.change == pytest.approx(0.2)
    assert (drift.t, drift.p, drift.q, drift.alarm) == (None, None, None, None)
