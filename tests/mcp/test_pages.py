"""What is too large for an agent is cut, named, and can be asked for by its place."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.errors import UsageError
from reviewdesk.mcp.tools import LONGEST_TEXT, MOST, part, whole


def test_what_fits_is_given_as_it_is() -> None:
    record = {"id": "a", "jurors": [{"reason": "r" * LONGEST_TEXT}], "score": 0.5, "label": None}
    assert whole(record) == record


def test_a_long_text_is_cut_and_read_on_by_its_place() -> None:
    text = "0123456789" * 20_000
    record = {"output": text, "jurors": [{"reason": text}, {"reason": "short"}]}
    cut = whole(record)
    assert cut["output"] == text[:LONGEST_TEXT]
    assert cut["cut"] == [
        {"at": "/output", "given": LONGEST_TEXT, "of": len(text)},
        {"at": "/jurors/0/reason", "given": LONGEST_TEXT, "of": len(text)},
    ]
    read, offset = "", 0
    while True:
        page = part(record, "/jurors/0/reason", offset)
        assert len(page["value"]) <= MOST
        read += page["value"]
        if page["next"] is None:
            break
        offset = page["next"]
    assert read == text


def test_a_long_list_is_cut_and_read_on() -> None:
    record = {"rows": [{"n": number, "t": f"{number:500}"} for number in range(1000)], "last": 1}
    made = whole(record)
    places = {one["at"]: (one["given"], one["of"]) for one in made["cut"]}
    assert places["/rows"] == (len(made["rows"]), 1000)
    # No room is left for the key that follows.
    assert places[""] == (1, 2)
    read: list[int] = []
    offset: int | None = 0
    while offset is not None:
        page = part(record, "/rows", offset)
        for one in page["cut"]:
            # The text that the room ended in is named by its place in the whole list.
            number = int(one["at"].split("/")[2])
            assert part(record, one["at"], 0)["value"] == f"{number:500}"
        read += [row["n"] for row in page["value"]]
        offset = page["next"]
    assert read == [*range(1000)]


def test_a_place_is_a_json_pointer() -> None:
    record = {"tags": {"a/b~c": ["x", "y"]}, "n": 1}
    assert part(record, "/tags/a~1b~0c", 1)["value"] == ["y"]
    for at in ("/n", "/tags", "/gone", "/tags/a~1b~0c/2", "/tags/a~1b~0c/-1", "tags"):
        with pytest.raises(UsageError, match="Name"):
            part(record, at, 0)
    # Past the end there is nothing, and nothing follows.
    assert part(record, "/tags/a~1b~0c", 9) == {
        "at": "/tags/a~1b~0c", "value": [], "of": 2, "next": None, "cut": []
    }  # fmt: skip


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.floats(allow_nan=False)
    | st.text(max_size=9)
    | st.just("z" * 9999),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=12,
)


@pytest.mark.slow
@given(st.dictionaries(st.text(max_size=5), JSON))
def test_no_result_is_larger_than_allowed(record: dict[str, object]) -> None:
    made = whole(record)
    # The places that were cut are named with numbers and brackets of JSON around them.
    assert len(json.dumps(made, ensure_ascii=False)) < 2 * MOST
