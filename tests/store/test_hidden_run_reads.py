"""A run that is being loaded is in no answer of the desk."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from reviewdesk.desk.backups import info
from reviewdesk.desk.core import Desk
from reviewdesk.desk.export import report
from reviewdesk.desk.export import report as export
from reviewdesk.desk.figures import calibration, jurors, whatif
from reviewdesk.desk.labels import transfer
from reviewdesk.desk.review import filters, items, runs
from reviewdesk.desk.review.runs import panels
from reviewdesk.domain.records import Run, Truth
from reviewdesk.errors import NotFoundError
from reviewdesk.store.load import hidden_runs
from tests.helpers import figures_of, load, numbered
from tests.store.test_hidden_runs import BIG, leave

FILTERS = (
    "", "esc", "label:none", "label:pass", "wrong", "run:same", "flip:same", "swing>=0", "tag:a",
    "score>.1", "juror:j1", "confidence>0", "decision:pass", "text~question",
)  # fmt: skip
ORDERS = ("draw", "mix", "file", "score", "margin", "id")


@pytest.fixture
def desk(desk: Desk) -> Desk:
    load(desk, numbered(40))
    return desk


def filtered(desk: Desk, run: Run, text: str = "", order: str = "draw") -> array[int]:
    return desk.queue(run, text, order)


Read = Callable[[Desk], Any]


def of_run(read: Callable[[Desk, Run], Any]) -> Read:
    return lambda desk: [read(desk, run) for run in desk.runs()]


def of_keys(read: Callable[[Desk, int], Any]) -> Read:
    return of_run(lambda desk, run: [read(desk, key) for key in desk.queue(run)])


READS: dict[str, Read] = {
    "runs": lambda desk: desk.runs(),
    "default": lambda desk: desk.run(),
    "overview": runs.overview,
    "tallies": runs.tallies,
    "details": of_run(runs.run_details),
    "rows": of_run(lambda desk, run: desk.rows(desk.queue(run))),
    "progress": of_run(lambda desk, run: desk.progress(run)),
    "decided": of_run(lambda desk, run: desk.decided(run)),
    "items": of_keys(lambda desk, key: desk.item(key)),
    "other runs": of_keys(items.other_runs),
    "flips": of_run(lambda desk, run: items.flips(desk, run, desk.run("same"))),
    "two panels": lambda desk: jurors.panel_comparison(desk, desk.run("run"), desk.run("same")),
    "calibration": of_run(figures_of), "calibration page": of_run(calibration.calibration_page),
    "jurors": of_run(jurors.jurors_page), "what if": of_run(whatif.what_if),
    "panels": of_run(lambda desk, run: panels(desk, run).key.tolist()),
    "labels": of_run(lambda desk, run: list(transfer.list_labels(desk, run))),
    "tags": of_run(filters.tag_counts),
    "vocabulary": of_run(filters.vocabulary),
    "search": of_run(lambda desk, run: filters.find(desk, run, "question", blind=False)),
    "completion": of_run(lambda desk, run: items.ids_from(desk, run, "v")),
    "ids": lambda desk: items.ids_from(desk, None, "v"),
    "report": of_run(lambda desk, run: list(export.report(desk, run))),
    "page": of_run(report.summary),
    "verify": lambda desk: (desk.verify().ok, desk.verify().problems),
    "facts": lambda desk: {
        name: fact for name, fact in info(desk).items() if name not in {"path", "bytes", "loading"}
    },
}  # fmt: skip
READS |= {f"filter {text}": of_run(partial(filtered, text=text)) for text in FILTERS}
READS |= {f"order {name}": of_run(partial(filtered, order=name)) for name in ORDERS}
"""Every way to look at a desk."""


def answers(desk: Desk) -> dict[str, str]:
    return {name: repr(read(desk)) for name, read in READS.items()}


@pytest.mark.slow
def test_a_hidden_run_is_nowhere(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    load(desk, numbered(40, report_id="same", generator={"model": "gpt-4o"}))
    for run in desk.runs():
        filters.index(desk, run)
    desk.label(desk.find(desk.run("run"), "v1"), Truth.PASS)
    before = answers(desk)
    # Its verdicts judge the same items as those of the two runs, and others.
    leave(desk, BIG, 4, monkeypatch)
    (left,) = hidden_runs.hidden_runs(desk.conn)
    assert left.rows == 500
    assert answers(desk) == before
    with pytest.raises(NotFoundError):
        desk.run("big")
    with pytest.raises(NotFoundError):
        desk.item(left.first)
    assert desk.verify().loading == (left.sentence,)
    assert "load the file again to resume" in left.sentence
    assert info(desk)["loading"] == [left.sentence]
    # It is what the reads would show that must not: once whole, many of them change.
    filters.index(desk, load(desk, BIG))
    after = answers(desk)
    changed = {name for name in before if after[name] != before[name]}
    assert {"runs", "overview", "tallies", "other runs", "facts"} <= changed
