"""What an agent suggests is told beside the labels of people, and counted nowhere."""

from contextlib import closing
from typing import Any

import pytest

from reviewdesk.desk import files
from reviewdesk.desk.core import Desk
from reviewdesk.desk.figures.calibration import calibration_page
from reviewdesk.desk.figures.strip import LiveStrip
from reviewdesk.desk.labels.transfer import list_labels
from reviewdesk.desk.review.edits import suggest
from reviewdesk.desk.review.items import last_label
from reviewdesk.desk.team.agreement import disagreements, team_page
from reviewdesk.domain.records import Truth
from reviewdesk.errors import UsageError
from reviewdesk.views.json import figures, review
from tests.helpers import load, numbered, open_desk


@pytest.fixture
def desk(desk: Desk) -> Desk:
    """Two people have labelled, differ on v2, and have left v5 open."""
    run = load(desk, numbered(12))
    keys = {name: desk.find(run, name) for name in ("v1", "v2", "v3", "v4")}
    for name in ("v1", "v2", "v3"):
        desk.label(keys[name], Truth.PASS, blind=True)
    desk.defer(keys["v4"])
    with closing(open_desk(desk.path, "ben")) as ben:
        ben.label(keys["v2"], Truth.FAIL)
    return desk


def everything(desk: Desk) -> dict[str, Any]:
    """All that is reckoned from labels."""
    run = desk.run()
    keys = desk.queue(run)
    team = team_page(desk, run)
    return {
        "calibration": figures.run_figures(calibration_page(desk, run)),
        "strata": calibration_page(desk, run).strata,
        "strip": LiveStrip().read(desk, run),
        "progress": desk.progress(run, keys),
        "queues": [
            desk.queue(run, words).tolist()
            for words in ("label:none", "label:pass", "label:fail", "wrong", "note", "deferred")
        ],
        "rows": desk.rows(keys),
        # A full export names the head of the log, which every event moves.
        "exports": [
            files.export(desk, run, kind)[0].replace(desk.head(), "")
            for kind in ("mcptest", "full", "csv")
        ],
        "listed": list(list_labels(desk, run)), "team": team,
        "disagreements": disagreements(desk, run), "last": last_label(desk, run),
    }  # fmt: skip


def test_no_figure_counts_a_suggestion(desk: Desk) -> None:
    run, before = desk.run(), everything(desk)
    for name, truth in (("v1", Truth.FAIL), ("v2", Truth.PASS), ("v5", Truth.FAIL)):
        suggest(desk, desk.find(run, name), truth, "because", "checker")
    after = everything(desk)
    for name, value in before.items():
        assert after[name] == value, name
    # The log is whole, and its head covers what was suggested.
    assert desk.verify().problems == ()


def test_undo_takes_the_persons_own_action_and_another_process_learns_of_it(desk: Desk) -> None:
    key = desk.find(desk.run(), "v5")
    suggest(desk, key, Truth.FAIL, None, "checker")
    undone = desk.undo()
    assert undone is not None
    assert (undone.verdict, undone.detail["was"]) == ("v4", "defer")
    assert [one.undone for one in desk.item(key).history] == [False]
    desk.changed()
    with closing(open_desk(desk.path, "ben")) as ben:
        suggest(ben, ben.find(ben.run(), "v5"), Truth.FAIL, None, "checker")
    assert desk.changed()


def test_a_suggestion_is_told_as_what_it_is(desk: Desk) -> None:
    key = desk.find(desk.run(), "v5")
    suggest(desk, key, Truth.FAIL, "day 31", "checker")
    suggest(desk, key, Truth.PASS, None, "checker")
    item = desk.item(key)
    assert item.row.label is None
    shown = review.verdict(item)
    assert shown["labels"] == []
    assert [(one["label"], one["agent"], one["note"]) for one in shown["suggestions"]] == [
        ("fail", "checker", "day 31"), ("pass", "checker", None)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("agent", "note"), [("", None), (" ", None), ("a" * 81, None), ("a", "n" * 4001)]
)
def test_a_name_and_a_note_have_bounds(desk: Desk, agent: str, note: str | None) -> None:
    with pytest.raises(UsageError, match="characters"):
        suggest(desk, desk.find(desk.run(), "v5"), Truth.FAIL, note, agent)
