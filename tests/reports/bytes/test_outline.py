"""The first look at an object: what is asked of the registry of readers, and when."""

import io
import json

import pytest

from reviewdesk.errors import InputFileError
from reviewdesk.reports.bytes.strict_json import MAX_ITEM, ImportTally, failing
from reviewdesk.reports.bytes.window import Outline, Window, outline_object
from tests.reports.pieces import PieceSource

FAIL = failing(PieceSource.of("a.json", b"", (1,)))


def _look(document: object, *, steps_in: bool) -> tuple[Outline, int]:
    outline, asked = Outline("object"), 0

    def answer() -> bool:
        nonlocal asked
        asked += 1
        return steps_in

    window = Window(io.BytesIO(json.dumps(document).encode()), FAIL, ImportTally())
    window.peek()
    outline_object(window, outline, FAIL, answer, lambda _: False)
    return outline, asked


@pytest.mark.slow
def test_the_readers_are_asked_of_long_values_alone() -> None:
    # Asking them looks at every key so far, which would be quadratic for many keys.
    many = {f"k{number}": [number, "text"] for number in range(1000)}
    outline, asked = _look(many, steps_in=True)
    assert (len(outline.keys), asked) == (1000, 0)
    outline, asked = _look({**dict(list(many.items())[:5]), "long": "x" * MAX_ITEM}, steps_in=True)
    assert (outline.keys["long"], asked) == (None, 1)


def test_a_long_value_is_an_error_where_no_reader_wants_a_shell() -> None:
    with pytest.raises(InputFileError, match="long"):
        _look({"long": ["x" * MAX_ITEM]}, steps_in=False)
