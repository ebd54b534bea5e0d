"""What a refusal tells a person to do: its command leads on, and takes back no other's advice."""

import json
import re
import shlex
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.errors import ReviewDeskError
from reviewdesk.reports import ReadOptions, Source, propose, read

FILES = {
    "wide.csv": b"id,output,ann,ben,ann_why\na,x,1,0,w\nb,y,0,1,w\n",
    "long.json": b'[{"id": "a", "judge": "b", "score": 1}, {"id": "a", "judge": "c", "score": 0}]',
    "report.json": json.dumps(
        {
            "schema": "reviewdesk.report/1",
            "verdicts": [{"id": "a", "case": {"test": "t"}, "jurors": [{"id": "j", "score": 1}]}],
        }
    ).encode(),
}
GIVEN: dict[str, Any] = {
    "item_column": "id", "judge_columns": ("ann", "ben"), "criteria_columns": ("ann",),
    "output_column": "output", "reason_suffix": "_why", "map": "own.toml", "format": "table",
}  # fmt: skip
_COMMAND = re.compile(r"reviewdesk (open|map) (.*)")


def _options(words: list[str]) -> dict[str, Any]:
    """Return the reading options in the words of a command."""
    found: dict[str, Any] = {}
    for flag, value in zip(words[::2], words[1::2], strict=True):
        name = flag.removeprefix("--").replace("-", "_")
        found[name] = tuple(value.split(",")) if name.endswith("columns") else value
    return found


def _outcome(name: str, options: Mapping[str, Any]) -> str:
    """Return an empty text if a file opens, else the message."""
    try:
        known = {key: options[key] for key in options.keys() & ReadOptions.__struct_fields__}
        list(read(Source.from_bytes(name, FILES[name]), ReadOptions(**known)).verdicts())
    except ReviewDeskError as error:
        return str(error)
    return ""


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_hints_commands_lead_on(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.toml").write_text('item = "id"\njudge = "judge"\nscore = "score"\n')
    asked: set[str] = set()
    dropped: set[str] = set()
    commands = 0
    for size in (0, 1, 2, 3, len(GIVEN)):
        for chosen in combinations(GIVEN, size):
            told = _outcome(name, {key: GIVEN[key] for key in chosen})
            found = _COMMAND.search(told)
            if found is None:
                assert not told or "Name its columns" in told or "no answer in them" in told
                continue
            commands += 1
            kind, rest = found.groups()
            file, *words = shlex.split(rest)
            assert file == name
            if kind == "map":
                propose(Source.from_bytes(name, FILES[name]))
                continue
            options = _options(words)
            asked.update(options)
            if not options:
                dropped.update(chosen)
            assert _outcome(name, options) == ""
    assert not asked & dropped
    assert bool(commands) == (name != "long.json")


def test_item_and_output_that_a_person_names_win_over_the_map(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text('item = "nothing"\n[[ballots]]\ncolumns = ["ann", "ben"]\n')
    options = ReadOptions(map=str(path), item_column="id", output_column="ann_why")
    first, _ = read(Source.from_bytes("wide.csv", FILES["wide.csv"]), options).verdicts()
    assert (first["id"], first["output"]) == ("a", "w")
