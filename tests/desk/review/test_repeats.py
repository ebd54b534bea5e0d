"""A repeat is no label: whatever reads labels finds the same with and without it."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.desk.core import Desk
from reviewdesk.desk.figures.calibration import calibration_page
from reviewdesk.desk.figures.jurors import jurors_page
from reviewdesk.desk.figures.strip import LiveStrip
from reviewdesk.desk.labels.rows import full_rows, score_rows
from reviewdesk.desk.labels.transfer import import_labels, list_labels
from reviewdesk.desk.review import repeats
from reviewdesk.desk.review.filters import tag_counts
from reviewdesk.desk.review.repeats import WorkLog
from reviewdesk.domain.labels.team import self_agreement
from reviewdesk.domain.records import Run, Truth, View
from reviewdesk.views.json import review as shapes
from tests.helpers import Clock, label_row, load, open_desk, report, verdict

COUNT = 8
_TRUTHS = st.sampled_from((Truth.PASS, Truth.FAIL, Truth.UNSURE))
_STEPS = st.lists(
    st.tuples(
        st.sampled_from(("label", "repeat", "undo repeat")), st.integers(0, COUNT - 1), _TRUTHS
    ),
    max_size=20,
)


def run_of(desk: Desk) -> Run:
    scores = ((0.9, 0.8, 0.3), (0.2, 0.1, 0.9), (0.9, 0.9, 0.8))
    bodies = (
        verdict(f"v{n}", *scores[n % 3], flagged=n % 2 == 0, input=f"q{n}") for n in range(COUNT)
    )
    return load(desk, report(*bodies))


def facts(desk: Desk, run: Run) -> dict[str, Any]:
    """All that is read from labels, but for times and for the head, which covers every event."""
    keys = desk.queue(run, "", "draw")
    rows = [dict(row) | {"head": "", "time": ""} for row in full_rows(desk, run, None).rows]
    page = calibration_page(desk, run)
    labels = [dict(label) | {"at": ""} for label in list_labels(desk, run)]
    shown = [shapes.verdict(desk.item(key), [])["labels"] for key in keys]
    return {
        "page": (page.calibration, page.split, page.alone, page.strata, page.gates, page.honest),
        "jurors": jurors_page(desk, run).jurors, "exact": score_rows(desk, run, None), "full": rows,
        "labels": labels, "strip": LiveStrip().read(desk, run).calibration,
        "progress": desk.progress(run), "rows": desk.rows(keys),
        "next": desk.next_undecided(run, keys, -1), "tags": tag_counts(desk, run),
        "queues": [
            list(desk.queue(run, text)) for text in ("label:none", "label:pass", "deferred")
        ],
        "shown": [[one | {"at": ""} for one in labels] for labels in shown],
    }  # fmt: skip


@pytest.mark.slow
@given(_STEPS)
def test_figures_are_the_same_with_and_without_repeats(steps: list[tuple[str, int, Truth]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = []
        for repeating in (True, False):
            desk = open_desk(Path(folder) / f"{repeating}.db", clock=Clock())
            run = run_of(desk)
            keys = desk.queue(run, "", "file")
            for kind, place, truth in steps:
                if kind == "label":
                    desk.label(keys[place], truth, blind=True)
                elif repeating:
                    give(desk, keys[place], truth)
                    if kind == "undo repeat":
                        desk.undo()
            found.append(facts(desk, run))
            assert desk.verify().ok
            desk.close()
        assert found[0] == found[1]


def give(desk: Desk, key: int, truth: Truth) -> None:
    repeats.second_label(key, truth, View(), blind=True, unseen=True)(desk)


def test_a_repeat_is_undone_and_redone_across_a_restart(desk: Desk) -> None:
    run = run_of(desk)
    key = desk.queue(run, "", "file")[0]
    desk.label(key, Truth.PASS, blind=True)
    give(desk, key, Truth.FAIL)
    head = desk.head()
    desk.close()
    again = open_desk(desk.path)
    undone = again.undo()
    assert undone is not None
    assert undone.detail["was"] == "repeat fail"
    log = WorkLog(again, run)
    log.read()
    assert log.pairs() == []
    again.redo()
    log.read()
    assert [second for _, second in log.pairs()] == [Truth.FAIL]
    # A label of the same item is taken back before the repeat is asked of again.
    assert again.item(key).row.label is Truth.PASS
    assert again.verify(head).ok


def test_a_file_with_another_label_meets_no_repeat(desk: Desk) -> None:
    run = run_of(desk)
    give(desk, desk.queue(run, "", "file")[0], Truth.FAIL)
    done = import_labels(desk, run, [label_row("v0", "ann", Truth.PASS)])
    assert (done.labelled, done.new, done.conflicts) == (1, 1, 0)


def test_the_newest_repeat_of_an_item_counts(desk: Desk) -> None:
    run = run_of(desk)
    first, second, _ = desk.queue(run, "", "file")[:3]
    desk.label(first, Truth.PASS, blind=True)
    desk.label(second, Truth.FAIL, blind=True)
    for truth in (Truth.FAIL, Truth.PASS):
        give(desk, first, truth)
    give(desk, second, Truth.PASS)
    log = WorkLog(desk, run)
    log.read()
    found = self_agreement(log.pairs())
    assert (found.n, found.same) == (2, 1)


def test_imports_and_labels_of_the_shell_do_not_come_back(desk: Desk) -> None:
    bodies = (verdict(f"v{n}", 0.9, 0.8, 0.3, input=f"q{n}") for n in range(90))
    run = load(desk, report(*bodies))
    keys = desk.queue(run, "", "file")
    log = WorkLog(desk, run, 1.0)
    for key in keys[:80]:
        desk.label(key, Truth.PASS)
    log.read()
    assert not list(log.due(""))
    rows = [label_row(f"v{n}", "ann", Truth.FAIL) for n in range(80)]
    import_labels(desk, run, rows)
    log.read()
    assert not list(log.due(""))
