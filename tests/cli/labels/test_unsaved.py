"""The command line names changes that the app kept when it ended, and does not save them."""

from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from reviewdesk.desk.core import Desk
from reviewdesk.desk.review import edits, unsaved
from tests.cli.conftest import Cli
from tests.cli.gatekit import Write
from tests.helpers import numbered


def test_commands_tell_of_kept_and_of_false_files(cli: Cli, write: Write, tmp_path: Path) -> None:
    path = tmp_path / "own.db"
    cli("ingest", write("report.json", numbered(3)), "--desk", path)
    with closing(Desk.open(path, reviewer="ann")) as desk:
        key = desk.find(desk.run(), "v1")
        at = datetime(2025, 1, 1, tzinfo=UTC)
        kept = unsaved.keep(desk, [(at, edits.Edit("mark", key, edits.with_key({"on": True})))])
    words = ("--desk", path, "--reviewer", "ann")
    done = cli("queue", *words)
    told = f"1 change of ann not saved when the app ended: kept in {kept}; the screen offers"
    assert done.code == 0
    assert told in done.err
    assert "not saved" not in cli("queue", "--desk", path, "--reviewer", "bob").err
    kept.write_text("{")
    done = cli("queue", *words)
    assert done.code == 0
    assert f"{kept}: is not JSON" in done.err
