"""What an import tells of itself, whichever format the file has."""

import json

from reviewdesk.reports import read
from tests.helpers import report, source, verdict


def notes(data: bytes, name: str = "file.json") -> list[str]:
    found = read(source(data, name))
    assert list(found.verdicts())
    return found.notes


def test_an_id_of_two_juries_is_made_unique() -> None:
    jury = {"name": "same", "jurors": [{"id": "j", "score": 0.9, "pass": True}]}
    found = notes(json.dumps({"results": [jury, jury, jury]}).encode())
    assert "made 2 ids unique with #2 and so on" in found
    assert any(note.startswith("shape not verified") for note in found)


def test_a_canonical_report_may_have_such_ids_of_its_own() -> None:
    assert notes(report(verdict("a"), verdict("a#2"))) == []


def test_replaced_surrogates_are_counted() -> None:
    data = report(verdict("a", output="HALF")).replace(b"HALF", rb"\ud83d")
    assert notes(data) == ["replaced 1 lone surrogate by U+FFFD"]
