"""``archive`` as a person calls it; its workers are this process."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.desk import archive
from reviewdesk.scale.crew import Item, Lost, Task, Value
from tests.cli.conftest import Cli
from tests.desk.archive.archivekit import Here, lines, verdicts, write_parts

BODIES = verdicts(40)


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, Here())


def use(monkeypatch: pytest.MonkeyPatch, crew: Here) -> None:
    """Let a crew do the tasks, whatever workers are asked for."""

    @contextmanager
    def crew_for(_scheduler: str | None, _workers: int | None) -> Iterator[Here]:
        yield crew

    monkeypatch.setattr(archive, "workers_at", crew_for)


class Interrupted(Here):
    """A crew whose person presses ctrl+c once a part has been read again."""

    def run(
        self, task: Task[Item, Value], items: Sequence[Item]
    ) -> Iterator[tuple[int, Value | Lost]]:
        for made in super().run(task, items):
            yield made
            if not isinstance(items[0], str):
                raise KeyboardInterrupt


def near(found: Any) -> Any:
    """JSON whose numbers may differ in the last digits, as sums of parts do."""
    if isinstance(found, dict):
        return {name: near(one) for name, one in found.items()}
    if isinstance(found, list):
        return [near(one) for one in found]
    return pytest.approx(found, rel=1e-9, abs=1e-12) if isinstance(found, float) else found


@pytest.mark.slow
def test_the_figures_are_those_of_the_plain_load(cli: Cli, tmp_path: Path) -> None:
    parts = write_parts(tmp_path / "parts", BODIES, 3)
    whole = tmp_path / "whole.jsonl"
    whole.write_bytes(lines(BODIES))
    desks = [tmp_path / "plain.db", tmp_path / "archive.db"]
    assert cli("ingest", whole, "--seed", "s", "--desk", desks[0]).code == 0
    made = cli("archive", *parts, "--seed", "s", "-o", desks[1], "--json").json
    assert (made["verdicts"], made["parts"], made["bad"]) == (40, 3, [])
    labels = tmp_path / "labels.jsonl"
    held = [one["id"] for one in cli("queue", "--json", "--desk", desks[1]).json]
    assert len(held) == made["held"]
    labels.write_text(
        "".join(
            json.dumps({"id": name, "truth": "pass" if at % 3 else "fail"}) + "\n"
            for at, name in enumerate(held)
        )
    )
    found = []
    for desk in desks:
        assert cli("labels", "import", labels, "--desk", desk).code == 0
        commands = (("runs",), ("calibrate",), ("whatif",))
        found.append([cli(*command, "--json", "--desk", desk).json for command in commands])
    for runs in (found[0][0], found[1][0]):
        for name in ("hash", "file", "loaded_at", "notes", "held"):
            runs[0].pop(name, None)
    assert found[1] == near(found[0])


def test_a_bad_part_is_named_and_the_rest_is_written(cli: Cli, tmp_path: Path) -> None:
    parts = write_parts(tmp_path / "parts", BODIES, 3)
    Path(parts[1]).write_text("no report\n")
    done = cli("archive", *parts, "-o", tmp_path / "new.db")
    assert done.code == 2
    assert [line for line in done.lines if line.startswith(f"{parts[1]}: ")]
    (run,) = cli("runs", "--json", "--desk", tmp_path / "new.db").json
    assert run["verdicts"] == 40 - 14


@pytest.mark.slow
def test_no_desk_is_left_of_an_archive_that_is_interrupted(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = write_parts(tmp_path / "parts", BODIES, 3)
    use(monkeypatch, Interrupted())
    assert cli("archive", *parts, "-o", tmp_path / "new.db").code == 130
    assert [path.name for path in tmp_path.iterdir()] == ["parts"]
    # A run of a desk that is there is not half written either.
    assert cli("archive", *parts).code == 130
    assert cli("runs", "--json").json == []
