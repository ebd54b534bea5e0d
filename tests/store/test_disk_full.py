"""A disk that is full at one write after another: a sentence, and the desk as it was."""

from collections.abc import Callable
from functools import partial

import pytest

from reviewdesk.desk import Desk
from reviewdesk.desk.labels.transfer import import_labels
from reviewdesk.domain.records import Truth
from reviewdesk.errors import DeskError
from tests.helpers import contents, label_row, load, numbered


@pytest.fixture
def desk(desk: Desk) -> Desk:
    run = load(desk, numbered(6))
    desk.label(desk.find(run, "v1"), Truth.PASS)
    return desk


def limit(desk: Desk, spare: int | None) -> None:
    """Let the file grow by so many pages and no more."""
    pages = desk.conn.execute("PRAGMA page_count").fetchone()[0]
    most = 1 << 30 if spare is None else pages + spare
    desk.conn.execute(f"PRAGMA max_page_count={most}")


def full(work: Callable[[], object]) -> bool:
    """Whether work ended because there was no room; any other error is the test's."""
    try:
        work()
    except DeskError as error:
        if "the disk is full" not in str(error):
            raise
        return True
    return False


def test_an_ingest_is_all_or_nothing_wherever_the_disk_ends(desk: Desk) -> None:
    before, big = contents(desk), numbered(200, report_id="big")
    refused = 0
    limit(desk, 0)
    while full(lambda: load(desk, big)):
        assert contents(desk) == before
        refused += 1
        limit(desk, refused)
    # 200 bodies take many pages of 16 KiB, so the end was met at as many places.
    assert refused > 5
    assert [run.verdicts for run in desk.runs()] == [6, 200]
    assert desk.verify().ok


def test_a_label_that_finds_no_room_is_not_acknowledged(desk: Desk) -> None:
    keys = list(desk.queue(desk.run()))
    limit(desk, 0)
    said = 0
    while not full(partial(desk.label, keys[said % 6], Truth.FAIL, note="n" * 500)):
        said += 1
        assert said < 1000
    found = desk.verify()
    assert (found.ok, found.events) == (True, 2 + said)
    limit(desk, None)
    assert desk.label(keys[0], Truth.PASS).seq == 2 + said
    assert desk.verify().ok


def test_labels_by_the_file_are_all_or_nothing(desk: Desk) -> None:
    run = desk.run()
    before = contents(desk)
    limit(desk, 0)
    rows = [label_row(f"v{n % 6}", f"author {n}" + "x" * 200, Truth.PASS) for n in range(400)]
    with pytest.raises(DeskError, match=r"the disk is full\. What was saved stays"):
        import_labels(desk, run, rows)
    assert contents(desk) == before
    limit(desk, None)
    assert import_labels(desk, run, rows).new == 400
