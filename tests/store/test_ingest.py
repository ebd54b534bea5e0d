"""One report, one transaction: all of it or none, and never twice."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.desk.core import Desk
from reviewdesk.desk.loading import LoadOptions
from reviewdesk.domain.records import Truth
from reviewdesk.errors import ReportError, UsageError
from reviewdesk.reports import read
from reviewdesk.reports.bytes.window import Window
from tests.helpers import contents, load, mostly_slow, numbered, open_desk, report, source, verdict


@pytest.mark.parametrize("bad", mostly_slow([0, 1, 1100, 499, 500, 501]))
def test_a_verdict_that_is_wrong_leaves_nothing(desk: Desk, bad: int) -> None:
    load(desk, numbered(2, report_id="kept"))
    before = contents(desk)
    body = json.loads(numbered(1101))
    body["verdicts"][bad]["jurors"][0]["score"] = "8/10"
    with pytest.raises(ReportError) as caught:
        load(desk, json.dumps(body).encode())
    assert f"$.verdicts[{bad}].jurors[0].score" in str(caught.value)
    assert contents(desk) == before


BEHIND = {
    "the header goes on": ', "defaults": {"threshold": 0.95}}',
    "a key twice": ', "report_id": "other"}', "the verdicts twice": ', "verdicts": []}',
    "a second value": "} {}", "cut off": "", "cut off after a key": ', "x":',
    "no comma": ' "x": 1}', "an unknown key": ', "x": 1}',
}  # fmt: skip


@pytest.mark.parametrize("end", mostly_slow(BEHIND.values(), every=2), ids=BEHIND)
@pytest.mark.parametrize("bad", [False, True])
def test_what_stands_behind_the_verdicts_counts_the_same(desk: Desk, end: str, bad: bool) -> None:
    data = numbered(600, report_id="big", defaults=None)[:-1] + end.encode()
    if bad:
        data = data.replace(b'"id": "v550"', b'"id": 550')
    before = contents(desk)
    whole: Any
    try:
        whole = read(source(data))
        expected = len(list(whole.verdicts()))
    except ReportError as error:
        whole = error
    if isinstance(whole, ReportError):
        with pytest.raises(ReportError) as caught:
            load(desk, data)
        assert str(caught.value) == str(whole)
        assert contents(desk) == before
    else:
        assert load(desk, data).verdicts == expected
        header, margin = desk.conn.execute(
            "SELECT header, margin FROM runs JOIN verdicts ON run = runs.key ORDER BY pos"
        ).fetchone()
        assert json.loads(header) == whole.header
        # The first has the scores 0.2, 0.3 and 0.1, so that its mean 0.2 lacks 0.75 of 0.95.
        assert margin == pytest.approx(0.75)
    assert desk.verify().ok


def test_a_report_is_not_searched_before_read(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def leap(_: Window) -> int:
        raise AssertionError

    # What counts the verdicts ahead of those who read them.
    monkeypatch.setattr(Window, "leap", leap)
    assert load(desk, numbered(600)).verdicts == 600
    with pytest.raises(AssertionError):
        read(source(numbered(600)))


def test_the_same_bytes_are_one_run(desk: Desk) -> None:
    data = numbered(5)
    first = desk.load(source(data))
    before = {name: rows for name, rows in contents(desk).items() if name != "runs"}
    again = desk.load(source(data, "other-name.json"))
    assert (first.new, again.new) == (True, False)
    assert first.run.hash == again.run.hash
    assert again.run.file == "report.json"
    assert {name: rows for name, rows in contents(desk).items() if name != "runs"} == before
    assert len(desk.runs()) == 1


@pytest.mark.parametrize(
    "options",
    [{"skip_bad": True}, {"threshold": 0.5}, {"quorum": 0.5}, {"strategy": "median"}],
    ids=str,
)
def test_other_options_are_another_run_and_say_so(desk: Desk, options: dict[str, Any]) -> None:
    data = numbered(5)
    first = desk.load(source(data))
    other = desk.load(source(data), LoadOptions(**options))
    assert other.new
    assert other.run.hash != first.run.hash
    assert (first.run.name, other.run.name) == ("run", "run#2")
    assert first.notes == ()
    assert other.notes == ("the same file is loaded as run with other options; this is a new run",)
    assert desk.load(source(data), LoadOptions(**options)).new is False


def test_the_name_is_the_reports_own_else_the_files(desk: Desk) -> None:
    names = [
        load(desk, numbered(1, report_id="own")).name,
        load(desk, numbered(2, report_id="own")).name,
        load(desk, numbered(3, report_id=None), "a/week.report.json").name,
        load(desk, numbered(4, report_id=None), "b/week.json").name,
    ]
    assert names == ["own", "own#2", "week", "week#2"]


def test_a_draw_is_never_repeated(desk: Desk) -> None:
    data = numbered(40)
    run = load(desk, data, seed="first")
    order = list(desk.queue(run))
    assert run.seed == "first"
    assert load(desk, data, seed="first").hash == run.hash
    with pytest.raises(UsageError, match="drawn with seed first"):
        load(desk, data, seed="second")
    assert list(desk.queue(load(desk, data))) == order


def test_the_seed_decides_the_draw(tmp_path: Path) -> None:
    orders = []
    for name, seed in (("a", "x"), ("b", "x"), ("c", "y")):
        with closing(open_desk(tmp_path / name)) as desk:
            orders.append(list(desk.queue(load(desk, numbered(40), seed=seed))))
    assert orders[0] == orders[1] != orders[2]


def test_a_report_without_verdicts_loads(desk: Desk) -> None:
    run = load(desk, report())
    assert (run.verdicts, run.flagged, run.audit, run.ballots) == (0, 0, 0, 0)
    assert list(desk.queue(run)) == []


def test_a_removed_run_comes_back_with_its_labels(desk: Desk) -> None:
    data = numbered(3)
    run = load(desk, data)
    desk.label(desk.find(run, "v1"), Truth.FAIL)
    desk.remove(run)
    assert desk.runs() == []
    again = desk.load(source(data))
    assert (again.new, again.run.name) == (False, "run")
    assert desk.rows([desk.find(again.run, "v1")])[0].label is Truth.FAIL


def test_the_counts_of_a_run(desk: Desk) -> None:
    run = load(
        desk,
        report(
            verdict("a", 0.9, None, 0.8),
            verdict("b", 0.1, 0.2, flagged=True),
            verdict("c", None, decision="error"),
        ),
    )
    # Ballots 3 + 2 + 1, of which one of a's and the one of c failed; b is stated as escalated, and
    # c is an error, which is always flagged.
    assert (run.verdicts, run.ballots, run.failed_ballots, run.flagged) == (3, 6, 2, 2)
