"""Small files of many kinds that people have: each opens, or by the map that is proposed.

A line of ``kinds.jsonl`` has the text of a file, and by item and judge the answers that are in it:
the score as the file has it, else the vote; ``unknown`` for one that cannot be read, null for none.
``person`` is a person's label, ``NAME why`` the reason of a judge, and the words of FACTS what the
verdict says. A kind with ``options`` opens by them alone, and no map is proposed for it.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.errors import UnclearTableError
from reviewdesk.reports import ReadOptions, Source, read
from tests.helpers import mostly_slow, verdict_problem

FACTS = ("decision", "input", "output", "alternative", "rubric", "generator")
KINDS = [*map(json.loads, (Path(__file__).parent / "files/kinds.jsonl").read_text().splitlines())]


def _said(juror: Any) -> Any:
    if juror.get("status") == "unknown":
        return "unknown"
    keys = ("raw_score", "score", "pass", "label")
    return next((juror[key] for key in keys if juror.get(key) is not None), None)


@pytest.mark.parametrize("kind", mostly_slow(KINDS, every=6), ids=[one["kind"] for one in KINDS])
def test_a_kind_of_file_opens_as_it_is_or_by_its_proposed_map(kind: Any, tmp_path: Path) -> None:
    source = Source.from_bytes(kind["kind"], kind["text"].encode())
    options: dict[str, Any] = {key: tuple(value) for key, value in kind.get("options", {}).items()}
    try:
        bodies = [*read(source, ReadOptions(**options)).verdicts()]
    except UnclearTableError as error:
        assert "options" not in kind
        made = tmp_path / "map.toml"
        made.write_text(error.details)
        bodies = [*read(source, ReadOptions(map=str(made))).verdicts()]
    assert [verdict_problem(body) for body in bodies] == [None] * len(bodies)
    found = {
        body["id"]: {one["id"]: _said(one) for one in body["jurors"]}
        | {f"{one['id']} why": one.get("reason") for one in body["jurors"]}
        | {"person": body.get("human", {}).get("label")}
        | {fact: body.get(fact) for fact in FACTS}
        for body in bodies
    }
    said = {
        item: answers and {judge: found.get(item, {}).get(judge, "absent") for judge in answers}
        for item, answers in kind["answers"].items()
    }
    assert said == kind["answers"]
    assert len(found) == kind.get("verdicts", len(found))
