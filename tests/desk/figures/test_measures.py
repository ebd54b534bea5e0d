"""A run is measured when it is loaded, or when somebody asks for what an older version left out."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reviewdesk.desk import Desk
from reviewdesk.desk.figures.ballots import panels
from reviewdesk.desk.figures.measures import measure, measured
from reviewdesk.desk.review.runs import overview, run_details
from reviewdesk.domain.records import Run, Truth
from reviewdesk.domain.run.columns import Columns, columns
from reviewdesk.domain.run.measures import UNMEASURED
from reviewdesk.errors import UsageError
from reviewdesk.reports import Source
from reviewdesk.store import measures
from reviewdesk.store.connect import ExplainedConnection
from tests.helpers import SAMPLES, contents, load, numbered, open_desk, report, unmeasure, verdict

REPORTS = [path for path in sorted(SAMPLES.iterdir()) if path.stem in {
    "support-bot", "support-bot-second-panel", "code-review", "release-notes", "hostile",
}]  # fmt: skip
RAGGED = report(
    verdict("three"),
    verdict("one", 0.4),
    verdict("none", None, jurors=[]),
    verdict("failed", None, None),
    verdict("weighed", jurors=[{"id": "b", "score": 0.2}, {"id": "a", "score": 0.9, "weight": 2}]),
    verdict("withheld", jurors=[{"id": "b", "score": 0.7, "pass": None}], quorum="2/3"),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "desk.db"


def from_bodies(desk: Desk, run: Run) -> Columns:
    """The columns by way of every single item."""
    items = [desk.item(key) for key in desk.queue(run, order="file")]
    return columns((item.row.key, item.verdict, item.assessment) for item in items)


def assert_alike(found: Columns, expected: Columns) -> None:
    for field in fields(Columns):
        one, other = getattr(found, field.name), getattr(expected, field.name)
        if isinstance(other, np.ndarray):
            assert one.dtype == other.dtype, field.name
            np.testing.assert_array_equal(one, other, err_msg=field.name)
        else:
            assert one == other, field.name


def test_the_samples_are_all_there() -> None:
    assert len(REPORTS) == 5


@pytest.mark.parametrize("sample", REPORTS, ids=lambda path: path.stem)
def test_the_panels_of_a_sample_are_those_of_its_bodies(path: Path, sample: Path) -> None:
    with closing(open_desk(path)) as desk:
        load(desk, numbered(3))
        run = desk.load(Source.from_path(sample)).run
        found = panels(desk, run)
        assert len(found) == run.verdicts > 0
        assert_alike(found, from_bodies(desk, run))


@pytest.mark.parametrize("window", [1, 4, 5])
def test_panels_of_any_size_over_several_windows(
    path: Path, window: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measures, "WINDOW", window)
    with closing(open_desk(path)) as desk:
        load(desk, numbered(2, report_id="before"))
        run = load(desk, RAGGED)
        found = panels(desk, run)
        assert found.seated.tolist() == [3, 1, 0, 2, 2, 1]
        assert_alike(found, from_bodies(desk, run))
        firsts = [row["first"] for row in desk.conn.execute(
            "SELECT first FROM packed WHERE run = ? ORDER BY first", (run.key,)
        )]  # fmt: skip
        assert firsts == [*range(0, 6, window)]


def test_a_run_without_verdicts_has_no_panels(path: Path) -> None:
    with closing(open_desk(path)) as desk:
        run = load(desk, report())
        assert len(panels(desk, run)) == 0
        assert overview(desk)[0].alphas.measured


# Runs from before there were measures


@pytest.fixture
def older(path: Path) -> Iterator[tuple[Desk, dict[str, list[Any]]]]:
    """A desk as an older version left it, and what it would hold had this one loaded the runs."""
    with closing(open_desk(path)) as desk:
        load(desk, RAGGED, threshold=0.5)
        other = load(desk, numbered(7, report_id="two", generator={"model": "gpt-4o"}))
        load(desk, report(report_id="three"))
        desk.label(desk.find(other, "v1"), Truth.PASS)
        whole = contents(desk)
        unmeasure(desk.conn)
    with closing(open_desk(path)) as desk:
        yield desk, whole


def rows(found: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """What is compared: the day of a migration and the order of writing are not."""
    return {name: sorted(lines, key=repr) for name, lines in found.items() if name != "migrations"}


def test_an_older_run_is_measured_as_if_it_were_loaded_now(
    older: tuple[Desk, dict[str, list[Any]]],
) -> None:
    desk, whole = older
    assert [line.alphas for line in overview(desk)] == [UNMEASURED] * 3
    told: list[tuple[float, int]] = []

    def progress(share: float, count: int) -> bool:
        told.append((share, count))
        return True

    for run in desk.runs():
        assert not measured(desk, run)
        assert measure(desk, run, progress)
        assert measured(desk, run)
    assert told == [(1.0, 6), (1.0, 7)]
    assert rows(contents(desk)) == rows(whole)
    assert desk.conn.execute("SELECT count(*) FROM sqlite_temp_master").fetchone()[0] == 0
    assert desk.verify().ok


def test_panels_of_an_older_run_are_kept_when_first_asked_for(
    older: tuple[Desk, dict[str, list[Any]]],
) -> None:
    desk, _ = older
    run = desk.run("two")
    assert_alike(panels(desk, run), from_bodies(desk, run))
    assert measured(desk, run)
    assert run_details(desk, run).alphas.measured
    assert not measured(desk, desk.run("run"))


def test_a_desk_that_is_being_written_to_gives_panels_all_the_same(
    older: tuple[Desk, dict[str, list[Any]]],
) -> None:
    desk, _ = older
    run = desk.run("run")
    desk.conn.execute("PRAGMA busy_timeout=0")
    with closing(sqlite3.connect(desk.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert_alike(panels(desk, run), from_bodies(desk, run))
    assert not measured(desk, run)
    panels(desk, run)
    assert measured(desk, run)


def test_a_read_only_desk_gives_panels_all_the_same(
    older: tuple[Desk, dict[str, list[Any]]],
) -> None:
    desk, _ = older
    expected = from_bodies(desk, desk.run("run"))
    with closing(open_desk(desk.path)) as reader:
        reader.conn.close()
        reader.conn = sqlite3.connect(
            f"file:{desk.path}?mode=ro", uri=True, isolation_level=None, factory=ExplainedConnection
        )
        reader.conn.row_factory = sqlite3.Row
        assert_alike(panels(reader, reader.run("run")), expected)
        assert not measured(reader, reader.run("run"))


def test_stopping_keeps_nothing(older: tuple[Desk, dict[str, list[Any]]]) -> None:
    desk, whole = older
    before = contents(desk)
    assert not measure(desk, desk.run("two"), lambda _, __: False)
    assert contents(desk) == before
    assert measure(desk, desk.run("two"))
    assert contents(desk) != before
    assert len(whole["packed"]) == 2


def test_a_run_that_another_window_measured_meanwhile(
    older: tuple[Desk, dict[str, list[Any]]],
) -> None:
    desk, whole = older
    run = desk.run("two")

    def progress(_: float, __: int) -> bool:
        with closing(open_desk(desk.path, "ben")) as other:
            assert measure(other, run)
            # The lock is free while the verdicts are read.
            other.label(other.find(run, "v2"), Truth.FAIL)
        return True

    assert measure(desk, run, progress)
    assert [row for row in contents(desk)["measures"] if row[0] == run.key] == [
        row for row in whole["measures"] if row[0] == run.key
    ]


@pytest.mark.parametrize("text", ["range>.5", "share>.1", "esc|!breach:band"])
def test_a_fact_that_is_not_measured_is_refused_by_name(
    older: tuple[Desk, dict[str, list[Any]]], text: str
) -> None:
    desk, _ = older
    run = desk.run("two")
    with pytest.raises(UsageError, match="is not known yet"):
        desk.queue(run, text)
    measure(desk, run)
    desk.queue(run, text)


@pytest.mark.parametrize("order", ["range", "-share"])
def test_an_order_that_is_not_measured_is_refused_by_name(
    older: tuple[Desk, dict[str, list[Any]]], order: str
) -> None:
    desk, _ = older
    run = desk.run("two")
    assert len(desk.queue(run, "", "-volatility")) == 7
    with pytest.raises(UsageError, match=f"{order.removeprefix('-')} is not known yet"):
        desk.queue(run, "", order)
    measure(desk, run)
    assert len(desk.queue(run, "", order)) == 7
