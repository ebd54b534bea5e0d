"""What the commands write: never over another file unasked, and private where it is a desk's."""

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.desk.core import now
from reviewdesk.desk.live.journal import report_journal
from reviewdesk.errors import JournalError
from tests.cli.conftest import Cli
from tests.cli.gatekit import Write
from tests.helpers import numbered, report, verdict

EXPORTS = (
    ("export", "report"), ("export", "html"), ("export", "markdown"),
    ("labels", "export"), ("labels", "export", "--format", "csv"),
)  # fmt: skip


@pytest.fixture
def desk(cli: Cli, write: Write) -> Cli:
    cli("ingest", write("report.json", report(verdict("a"), verdict("b"))))
    cli("label", "a", "pass")
    cli("label", "b", "pass")
    return cli


@pytest.mark.parametrize("command", EXPORTS, ids=" ".join)
def test_a_file_is_replaced_with_force_only(desk: Cli, tmp_path: Path, command: Any) -> None:
    target = tmp_path / "out"
    target.write_bytes(b"mine")
    refused = desk(*command, "-o", target)
    assert (refused.code, refused.out) == (2, "")
    assert "already exists" in refused.err
    assert "--force" in refused.err
    assert target.read_bytes() == b"mine"
    assert desk(*command, "-o", target, "--force").code == 0
    assert target.read_bytes() != b"mine"
    assert "already exists" not in desk(*command, "-o", tmp_path).err, "it is a folder"


@pytest.mark.parametrize("command", EXPORTS, ids=" ".join)
def test_a_dash_is_stdout(desk: Cli, command: tuple[str, ...]) -> None:
    assert desk(*command, "-o", "-").out == desk(*command).out != ""


@pytest.mark.parametrize("name", ["", "-wal", "-shm", "-journal"])
def test_no_force_replaces_the_desk(desk: Cli, desk_path: Path, name: str) -> None:
    before = desk_path.read_bytes()
    refused = desk("export", "html", "-o", f"{desk_path}{name}", "--force")
    assert (refused.code, "is the desk itself" in refused.err) == (2, True)
    assert desk_path.read_bytes() == before


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
def test_a_desk_and_copies_are_private_at_first(desk: Cli, desk_path: Path, tmp_path: Path) -> None:
    assert _mode(desk_path) == 0o600
    assert "private to the owner\n" in desk("desk", "info").out
    desk("desk", "backup", tmp_path / "one")
    assert _mode(tmp_path / "one") == 0o600
    import grp

    assert desk("desk", "share", "--group", grp.getgrgid(os.getegid()).gr_name).code == 0
    assert (_mode(desk_path), bool(desk_path.parent.stat().st_mode & stat.S_ISGID)) == (0o660, True)
    desk("desk", "backup", tmp_path / "two")
    assert _mode(tmp_path / "two") == 0o660
    assert desk("desk", "share", "--private").code == 0
    assert _mode(desk_path) == 0o600


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
def test_an_older_desk_keeps_its_mode_and_says_so(desk: Cli, desk_path: Path) -> None:
    desk_path.chmod(0o644)
    assert "desk share --private" in desk("desk", "info").out
    assert _mode(desk_path) == 0o644


@pytest.mark.parametrize("given", [(), ("--private", "--group", "x"), ("--group", "no-such-one")])
def test_a_share_that_cannot_be_is_refused(desk: Cli, given: tuple[str, ...]) -> None:
    assert desk("desk", "share", *given).code == 2


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="no links that are not followed")
def test_a_journal_follows_no_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (tmp_path / "r.replies.db").symlink_to(outside)
    with pytest.raises(JournalError), report_journal(tmp_path / "r", None, now):
        pass
    assert not outside.exists()


def _mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_a_damaged_desk_is_repaired_in_its_place(cli: Cli, write: Write, desk_path: Path) -> None:
    cli("ingest", write("report.json", numbered(6)))
    assert cli("label", "v1", "pass").code == 0
    head = cli("desk", "verify", "--json").json["head"]
    assert "backup     none yet" in cli("desk", "info").out
    data = desk_path.read_bytes()
    desk_path.write_bytes(bytes(100) + data[100:])
    assert cli("desk", "verify").code == 2
    found = cli("desk", "repair")
    new = desk_path.with_name("desk-repaired.db")
    assert (found.code, found.out) == (
        0,
        f"{new}: 2 events, 1 runs, head {head}\nnothing was lost\n",
    )
    assert found.lines == [f"to use it: reviewdesk desk restore {new}"]
    again = cli("desk", "repair")
    assert (again.code, "already exists" in again.err) == (2, True)
    assert cli("desk", "repair", "--force", "--json").json == {
        "head": head, "events": 2, "runs": ["run"], "lost": [], "path": str(new)
    }  # fmt: skip
    put = cli("desk", "restore", new)
    assert put.code == 0
    assert put.lines[0].startswith("the previous desk is kept as ")
    assert put.lines[1] == f"{desk_path}: restored from {new}"
    assert cli("desk", "verify", "--expect-head", head).code == 0


def test_what_was_lost_ends_with_1(cli: Cli, write: Write, desk_path: Path) -> None:
    cli("ingest", write("report.json", numbered(60)))
    desk_path.write_bytes(desk_path.read_bytes()[:60_000])
    found = cli("desk", "repair", "-o", desk_path.with_name("saved.db"))
    assert found.code == 1
    assert "lost:" in found.out


def test_repair_and_restore_refuse(cli: Cli, write: Write, tmp_path: Path, desk_path: Path) -> None:
    assert "there is nothing to repair" in cli("desk", "repair").err
    cli("ingest", write("report.json", numbered(6)))
    more = write("more.json", numbered(2))
    for end in ("", "-wal", "-journal"):
        own = desk_path.with_name(desk_path.name + end)
        assert "is the desk itself" in cli("desk", "repair", "--force", "-o", own).err
        assert "is the desk itself" in cli("desk", "backup", own).err
        assert "is the desk itself" in cli("archive", more, "--force", "-o", own).err
    assert "not a desk file" in cli("desk", "restore", write("text.db", b"no desk" * 30)).err
    assert cli("desk", "restore", tmp_path / "nothing").code == 2
