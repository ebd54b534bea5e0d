"""A chain's file is read as it was written; its name holds any reviewer's name and no path."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.domain.labels.chain import (
    FILE,
    LINE,
    NEWER,
    ChainName,
    ChainProblem,
    event_line,
    file_name,
    header_line,
    read_events,
    read_header,
)
from reviewdesk.domain.records import ChainEvent

DESK = "0123456789abcdef" * 2
EVENT = ChainEvent(
    DESK, "ann", 1, "label", "2025-01-31T12:00:00+00:00", "r", "v1", b"\1" * 32, "pass", "ann", 0,
    '{"counter":1,"note":"ü"}', 1, None, "", "ab" * 32,
)  # fmt: skip


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=300))
def test_every_name_is_a_file_of_its_own_in_the_folder_of_its_desk(reviewer: str) -> None:
    name = ChainName(DESK, reviewer)
    assert read_header(header_line(name)) == name
    assert FILE.fullmatch(file_name(name))
    assert len(file_name(name).partition("/")[2]) < 240


def test_names_that_look_alike_are_two_files() -> None:
    names = ["ann", "Ann", "ANN", "@desk", "%40desk", "a/b", "a.b", "..", "x" * 200, "x" * 201]
    files = {file_name(ChainName(DESK, name)).casefold() for name in names}
    assert len(files) == len(names)
    assert file_name(ChainName(DESK, "../é")) == f"{DESK}/by-%2e%2e%2f%c3%a9.jsonl"


def test_an_event_is_read_as_it_was_written() -> None:
    assert list(read_events([event_line(EVENT), event_line(EVENT)])) == [EVENT, EVENT]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"", "the file is cut off"),
        (b"{}", "the file is cut off"),
        (b"{}\n", "does not begin as"),
        (b'{"schema":"reviewdesk.chain/1","desk":"a"}\n', "does not begin as"),
        (b'{"schema":"reviewdesk.chain/1","desk":"a","reviewer":7}\n', "does not begin as"),
        (b'{"schema":"reviewdesk.chain/12"}\n', NEWER),
        (b"[]\n", "is not an object"),
        (b"\xff\n", "is not UTF-8"),
        (b"[" * 100_000 + b"\n", "is not JSON"),
        (b'{"a":1e999}\n', "is not JSON"),
        (b'{"a":NaN}\n', "is not JSON"),
        (b'{"a":"\\ud800"}\n', "is not JSON"),
        (b" " * LINE + b"\n", "is too long"),
    ],
    ids=lambda one: repr(one[:20]),
)
def test_a_first_line_of_another_kind_is_refused(line: bytes, problem: str) -> None:
    with pytest.raises(ChainProblem, match=problem):
        read_header(line)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (b'"item":"01', b'"item":"xx', "its item is not valid"),
        (b'"item":"01', b'"item":"', "its item is not valid"),
        (b'"tentative":0', b'"tentative":0.0', "its tentative is not valid"),
        (b'"seq":1', b'"seq":true', "its seq is not valid"),
        (b'"seq":1', b'"seq":1,"more":1', "has other fields than an event"),
        (b'"seq":1', b'"seq":' + b"9" * 5000, "is not JSON"),
    ],
)
def test_a_line_that_is_no_event_is_refused_with_its_number(
    old: bytes, new: bytes, problem: str
) -> None:
    lines = [event_line(EVENT), event_line(EVENT).replace(old, new)]
    with pytest.raises(ChainProblem, match=problem) as caught:
        list(read_events(lines))
    assert caught.value.seq == 2
