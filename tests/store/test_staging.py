"""A report is written in short transactions that nobody sees until it is whole."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from reviewdesk.desk.core import Desk
from reviewdesk.desk.loading import LoadOptions
from reviewdesk.domain.records import Truth
from reviewdesk.errors import DeskError, UsageError
from reviewdesk.store.load import ingest
from tests.helpers import contents, load, numbered, open_desk, report, source, verdict

BIG = numbered(1100, report_id="big")
"""Three progress calls: after 500, 1000 and 1100 verdicts."""


@pytest.fixture
def desk(desk: Desk) -> Desk:
    load(desk, numbered(4))
    return desk


@pytest.fixture
def other(desk: Desk) -> Iterator[Desk]:
    """A second window, which does not wait for a lock."""
    with closing(open_desk(desk.path, "ben")) as found:
        found.conn.execute("PRAGMA busy_timeout=0")
        yield found


def test_a_second_window_labels_while_a_report_is_read(desk: Desk, other: Desk) -> None:
    keys = [desk.find(desk.run(), f"v{place}") for place in range(3)]
    told: list[int] = []

    def progress(_: float, count: int) -> bool:
        if len(told) < 3:
            other.label(keys[len(told)], Truth.PASS)
        told.append(count)
        return True

    made = desk.load(source(BIG), LoadOptions(), progress)
    # Told again while the rows are written, if that takes more than one transaction.
    assert told[:3] == [500, 1000, 1100]
    assert made.run.verdicts == 1100
    assert other.verify().events == 5


def test_the_same_window_labels_while_it_loads(desk: Desk) -> None:
    key = desk.find(desk.run(), "v0")
    told: set[int] = set()

    def progress(_: float, count: int) -> bool:
        if count not in told:
            desk.label(key, Truth.PASS if count == 500 else Truth.FAIL)
            told.add(count)
        return True

    assert desk.load(source(BIG), LoadOptions(), progress).new
    assert desk.verify().events == 5


def test_its_name_is_taken_when_it_shows_and_its_keys_before(desk: Desk, other: Desk) -> None:
    def progress(_: float, count: int) -> bool:
        if count == 500:
            load(other, report(verdict("a"), verdict("b"), report_id="big"))
        return True

    run = desk.load(source(BIG), LoadOptions(), progress).run
    assert run.name == "big#2"
    # Four verdicts of the first run, then these; nobody knew how many keys they would need.
    assert list(desk.queue(run, order="file")) == list(range(5, 1105))
    assert [row.id for row in desk.rows([5, 1104])] == ["v0", "v1099"]
    assert list(desk.queue(desk.run("big"), order="file")) == [5 + (1 << 32), 6 + (1 << 32)]
    assert desk.item(6).verdict.body["input"] == "question v1"
    assert desk.verify().ok


@pytest.mark.slow
@pytest.mark.parametrize("at", [500, 1100])
def test_an_interrupt_leaves_nothing(desk: Desk, at: int) -> None:
    before = contents(desk)

    def progress(_: float, count: int) -> bool:
        if count == at:
            raise KeyboardInterrupt
        return True

    with pytest.raises(KeyboardInterrupt):
        desk.load(source(BIG), LoadOptions(), progress)
    assert contents(desk) == before
    assert load(desk, BIG).verdicts == 1100


def test_a_temporary_folder_that_cannot_be_written_is_named_as_such(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(desk)
    monkeypatch.setattr(ingest, "_IN_MEMORY", 1)
    with monkeypatch.context() as then:
        then.setattr("tempfile.tempdir", str(tmp_path / "gone"))
        with pytest.raises(DeskError, match=r"^the temporary folder: no such file"):
            load(desk, BIG)
    assert contents(desk) == before
    assert load(desk, BIG).verdicts == 1100


def test_the_audit_share_of_a_new_run(desk: Desk) -> None:
    # Of 1100 verdicts every fourth is flagged: 275, so 825 are the rest; .5 of them is 412.5.
    run = load(desk, BIG, audit_share=0.5)
    assert (run.flagged, run.audit) == (275, 413)
    # The draw of a known run stays as it was.
    assert load(desk, BIG, audit_share=0.1).audit == 413
    assert load(desk, BIG, threshold=0.6).audit == 83


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_what_is_no_share(share: float) -> None:
    with pytest.raises(UsageError, match="is not a share"):
        LoadOptions(audit_share=share)
