"""desk restore, desk repair and what desk info says of backups, as a person runs them."""

from pathlib import Path

from tests.cli.conftest import Cli
from tests.cli.gatekit import Write
from tests.helpers import numbered


def test_a_damaged_desk_is_repaired_and_put_in_its_place(
    cli: Cli, write: Write, desk_path: Path
) -> None:
    cli("ingest", write("report.json", numbered(6)))
    assert cli("label", "v1", "pass").code == 0
    head = cli("desk", "verify", "--json").json["head"]
    assert "backup     none yet" in cli("desk", "info").out
    data = desk_path.read_bytes()
    desk_path.write_bytes(bytes(100) + data[100:])
    refused = cli("desk", "verify")
    assert refused.code == 2
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


def test_repair_and_restore_refuse_in_a_sentence(
    cli: Cli, write: Write, tmp_path: Path, desk_path: Path
) -> None:
    assert "there is nothing to repair" in cli("desk", "repair").err
    cli("ingest", write("report.json", numbered(6)))
    more = write("more.json", numbered(2))
    for end in ("", "-wal", "-journal"):
        own = desk_path.with_name(desk_path.name + end)
        assert "is the desk itself" in cli("desk", "repair", "--force", "-o", own).err
        assert "is the desk itself" in cli("desk", "backup", own).err
        assert "is the desk itself" in cli("archive", more, "--force", "-o", own).err
    no_desk = write("text.db", b"no desk" * 30)
    assert "not a desk file" in cli("desk", "restore", no_desk).err
    assert cli("desk", "restore", tmp_path / "nothing").code == 2
