"""A run is measured when it is loaded, or when a desk of an older version is opened."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import fields

from reviewdesk.desk.core import Desk
from reviewdesk.desk.figures.jurors import jurors_page
from reviewdesk.desk.review.runs import overview, panels
from reviewdesk.domain.jurors.facts import JurorFacts, JurorsPage, Windows
from reviewdesk.domain.records import Run, Truth
from reviewdesk.domain.run import window as windows
from reviewdesk.domain.run.columns import Columns
from reviewdesk.domain.run.details import RunAlphas, Undefined
from reviewdesk.reports import Source
from reviewdesk.views.json import figures
from tests.domain.bodies import columns
from tests.helpers import (
    SAMPLES,
    contents,
    drawn_by_verdict,
    drop_label_state,
    load,
    numbered,
    open_desk,
    opened,
    report,
    set_back,
    unload,
    unmeasure,
    verdict,
)

REPORTS = [path for path in sorted(SAMPLES.iterdir()) if path.stem in {
    "support-bot", "support-bot-second-panel", "code-review", "release-notes", "hostile",
}]  # fmt: skip
RAGGED = report(
    verdict("three"), verdict("one", 0.4), verdict("none", None, jurors=[]),
    verdict("failed", None, None),
    verdict("weighed", jurors=[{"id": "b", "score": 0.2}, {"id": "a", "score": 0.9, "weight": 2}]),
    verdict("withheld", jurors=[{"id": "b", "score": 0.7, "pass": None}], quorum="2/3"),
)  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "desk.db"


def from_bodies(desk: Desk, run: Run) -> Columns:
    items = [desk.item(key) for key in desk.queue(run, order="file")]
    return columns((item.row.key, item.verdict) for item in items)


def assert_alike(found: Columns, expected: Columns) -> None:
    for field in fields(Columns):
        one, other = getattr(found, field.name), getattr(expected, field.name)
        if isinstance(other, np.ndarray):
            assert one.dtype == other.dtype, field.name
            np.testing.assert_array_equal(one, other, err_msg=field.name)
        else:
            assert one == other, field.name


@pytest.mark.parametrize("sample", REPORTS, ids=lambda path: path.stem)
def test_the_panels_of_a_sample_are_those_of_its_bodies(desk: Desk, sample: Path) -> None:
    load(desk, numbered(3))
    run = desk.load(Source.from_path(sample)).run
    found = panels(desk, run)
    assert len(found) == run.verdicts > 0
    assert_alike(found, from_bodies(desk, run))


@pytest.mark.parametrize("window", [1, 4, 5])
def test_panels_over_many_windows(desk: Desk, window: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "SIZE", window)
    load(desk, numbered(2, report_id="before"))
    run = load(desk, RAGGED)
    found = panels(desk, run)
    assert found.seated.tolist() == [3, 1, 0, 2, 2, 1]
    assert_alike(found, from_bodies(desk, run))
    firsts = [row["first"] for row in desk.conn.execute(
        "SELECT first FROM packed WHERE run = ? ORDER BY first", (run.key,)
    )]  # fmt: skip
    assert firsts == [*range(0, 6, window)]


def test_a_run_without_verdicts_has_no_panels(desk: Desk) -> None:
    assert len(panels(desk, load(desk, report()))) == 0
    assert overview(desk)[0].alphas.reasons["alpha"] is Undefined.NO_PAIRS


# Runs from before there were measures


@pytest.fixture
def older(path: Path) -> Iterator[tuple[Desk, dict[str, list[Any]]]]:
    """A desk as an older version left it, and what it would hold had this one loaded the runs."""
    with closing(open_desk(path)) as desk:
        load(desk, RAGGED, threshold=0.5)
        other = load(desk, numbered(7, report_id="two", generator={"model": "gpt-4o"}))
        load(desk, report(report_id="three"))
        desk.label(desk.find(other, "v1"), Truth.PASS)
        drawn_by_verdict(desk.conn)
        whole = contents(desk)
        unmeasure(desk.conn)
    with closing(open_desk(path)) as desk:
        yield desk, whole


def rows(found: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """What is compared: the day of a migration, the log and the order of writing are not."""
    left = {"migrations", "label_events", "sqlite_sequence", "current_events", "event_places"}
    return {name: sorted(lines, key=repr) for name, lines in found.items() if name not in left}


def test_an_older_run_is_measured_when_its_desk_is_opened(
    older: tuple[Desk, dict[str, list[Any]]],
) -> None:
    desk, whole = older
    assert all(line.alphas != RunAlphas() for line in overview(desk))
    assert rows(contents(desk)) == rows(whole)
    for run in desk.runs():
        assert_alike(panels(desk, run), from_bodies(desk, run))
    assert len(desk.queue(desk.run("two"), "range>=0", "-score")) == 7
    assert desk.conn.execute("SELECT count(*) FROM sqlite_temp_master").fetchone()[0] == 0
    assert desk.verify().ok


def test_a_run_that_the_migration_before_left_unmeasured(path: Path) -> None:
    with closing(open_desk(path)) as desk:
        load(desk, RAGGED, threshold=0.5)
        other = load(desk, numbered(7, report_id="two"))
        drawn_by_verdict(desk.conn)
        whole = contents(desk)
        for table in ("packed", "measures"):
            desk.conn.execute(f"DELETE FROM {table} WHERE run = ?", (other.key,))
        unload(desk.conn)
        drop_label_state(desk.conn)
        set_back(desk.conn, "measure_every_run")
    with closing(open_desk(path)) as desk:
        assert rows(contents(desk)) == rows(whole)


def say(desk: Desk, run: Run, truth: str, *names: str) -> None:
    for name in names:
        desk.label(desk.find(run, name), Truth(truth))


def by_name(page: JurorsPage) -> dict[str, JurorFacts]:
    return {one.name: one for one in page.jurors}


def unread(name: str, score: float) -> dict[str, Any]:
    """Two jurors, the second of whom sent what could not be read."""
    seats = [
        {"id": "j1", "score": score},
        {"id": "j2", "status": "parse_fail", "error": {"message": "no JSON"}},
    ]
    return verdict(name, jurors=seats, score=score, decision="pass")


def test_a_page_by_hand(tmp_path: Path) -> None:
    desk, run = opened(
        tmp_path, verdict("a", 0.9, 0.2, 0.7), verdict("b", 0.1, 0.8, 0.3), unread("c", 0.7),
        verdict("d", 0.9, None),
    )  # fmt: skip
    say(desk, run, "fail", "a")
    say(desk, run, "pass", "b")
    page = jurors_page(desk, run)
    assert page.labels == 2
    j1, j2 = by_name(page)["j1"], by_name(page)["j2"]
    # a passes, and j2 alone is against it, rightly; b fails, and j2 again.
    assert (j1.counts.fp, j1.counts.fn, j2.counts.tn, j2.counts.tp) == (1, 1, 1, 1)
    assert (j2.counts.lone_right, j2.counts.lone_dissents) == (2, 2)
    assert (j1.kappa, j1.weight) == (None, None)
    # On d j2 timed out, on c it was unreadable; over all four verdicts.
    assert (j2.seats.seats, j2.seats.failed, j2.seats.parse_failed) == (4, 2, 1)
    assert j2.parse_failures.estimate == 0.25
    assert (j1.seats.seats, j1.seats.failed) == (4, 0)
    # j1: .9 - .45 and .1 - .55; j2: .2 - .8 and .8 - .2; c and d have no second score.
    assert j1.offset is not None
    assert j2.offset is not None
    assert (j1.offset.n, j2.offset.n) == (2, 2)
    assert j1.offset.mean == pytest.approx((0.45 - 0.45) / 2)
    assert j2.offset.mean == pytest.approx(0)
    assert by_name(page)["j3"].seats.seats == 2


def test_a_run_without_labels_has_its_jurors(tmp_path: Path) -> None:
    desk, run = opened(tmp_path, verdict("a", 0.9, 0.5))
    page = jurors_page(desk, run)
    assert [(one.name, one.counts.n) for one in page.jurors] == [("j1", 0), ("j2", 0)]


def test_a_run_without_jurors_has_a_page(tmp_path: Path) -> None:
    desk, run = opened(tmp_path, verdict("a", jurors=[], score=0.9, decision="pass"))
    say(desk, run, "pass", "a")
    assert jurors_page(desk, run).jurors == ()


def shifted(name: str, by: float) -> dict[str, Any]:
    """j1 scores ``by`` above the two others, who waver a little from case to case."""
    step = (sum(name.encode()) % 5) / 100
    return verdict(name, round(0.4 + by + step, 3), 0.4, 0.4)


def test_this_run_is_held_against_the_earlier_ones(tmp_path: Path) -> None:
    desk, first = opened(tmp_path, *(shifted(f"v{i}", 0.0) for i in range(30)), report_id="one")
    load(desk, report(*(shifted(f"w{i}", 0.0) for i in range(20)), report_id="two"))
    last = load(desk, report(*(shifted(f"x{i}", 0.3) for i in range(25)), report_id="three"))
    found = by_name(jurors_page(desk, last))["j1"].offset
    assert found is not None
    drift = found.drift
    assert drift is not None
    assert (drift.windows, drift.runs, drift.before, drift.after) == (Windows.EARLIER, 2, 50, 25)
    assert drift.change == pytest.approx(0.3, abs=0.02)
    assert drift.q is not None
    assert drift.q < 1e-6
    # Its first verdict is over the limit already: .3 is twenty of the usual deviations.
    assert drift.alarm == desk.find(last, "x0")
    assert figures.jurors(jurors_page(desk, last))["jurors"][0]["drift"]["alarm"] == "x0"
    # The first run has none before it, and nothing moved within it.
    own = by_name(jurors_page(desk, first))["j1"].offset
    assert own is not None
    assert own.drift is not None
    assert (own.drift.windows, own.drift.before, own.drift.after) == (Windows.HALVES, 15, 15)
    assert own.drift.alarm is None


def test_a_removed_run_is_no_past(tmp_path: Path) -> None:
    desk, first = opened(tmp_path, *(shifted(f"v{i}", 0.0) for i in range(4)), report_id="one")
    again = load(desk, report(*(shifted(f"v{i}", 0.1) for i in range(4)), report_id="two"))
    assert jurors_page(desk, again).repeated == 4
    desk.remove(first)
    page = jurors_page(desk, again)
    offset = by_name(page)["j1"].offset
    assert offset is not None
    assert offset.drift is not None
    assert offset.drift.windows is Windows.HALVES
    assert (page.repeated, page.volatile) == (0, ())
