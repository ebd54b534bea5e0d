"""The index of a run's texts, and what a search finds with it."""

import re
from array import array
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from reviewdesk.desk.core import Desk
from reviewdesk.desk.review.filters import find, index
from reviewdesk.domain.records import Run, Truth
from reviewdesk.errors import UsageError
from tests.helpers import load, open_desk, report, verdict


def filled(desk: Desk, *verdicts: dict[str, Any]) -> Run:
    run = load(desk, report(*verdicts))
    assert index(desk, run)
    return run


def ids(desk: Desk, run: Run, text: str, *, blind: bool = False) -> list[str]:
    found = find(desk, run, text, blind=blind)
    assert isinstance(found, array)
    assert len(set(found)) == len(found)
    return sorted(row.id for row in desk.rows(found))


PLACES = (
    verdict("case-alpha", case={"test": "beta"}),
    verdict("v1", rubric="gamma", input="delta"),
    verdict("v2", output="epsilon", alternative="zeta", reference=["eta", "theta"]),
    verdict("v3", output=None, reference="iota", bias_warning="kappa"),
    verdict(
        "v4",
        jurors=[
            {"id": "a", "score": 0.9, "reason": "lambda"},
            {"id": "b", "error": {"message": "omicron ran out"}},
        ],
    ),
)


@pytest.mark.parametrize(
    ("text", "found", "blind"),
    [
        ("alpha", "case-alpha", True), ("beta", "case-alpha", True), ("gamma", "v1", True),
        ("delta", "v1", True), ("epsilon", "v2", True), ("zeta", "v2", True), ("eta", "v2", True),
        ("theta", "v2", True), ("iota", "v3", True), ("kappa", "v3", False),
        ("lambda", "v4", False), ("omicron", "v4", False),
    ],
)  # fmt: skip
def test_texts_are_found_but_not_blindly(desk: Desk, text: str, found: str, blind: bool) -> None:
    run = filled(desk, *PLACES)
    assert ids(desk, run, text) == [found]
    assert ids(desk, run, text, blind=True) == ([found] if blind else [])


def test_no_other_text_of_a_juror_is_searched(desk: Desk) -> None:
    run = filled(desk, verdict("v", jurors=[{"id": "juror", "model": "maker", "score": 0.5}]))
    for text in ("juror", "maker", "0"):
        assert ids(desk, run, text) == []


TEXTS = (
    verdict("a", input="The late fee is refunded", output="Café crème, naïve"),
    verdict("b", input="A fee, paid late", output="日本語のテキスト and 한국어"),
    verdict("c", input="gpt-4.1 doesn't pay", output="語日本"),
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("LATE Cafe CREME naive", ["a"]),
        ("café", ["a"]),
        ("gpt-4.1", ["c"]),
        ("gpt-4.2", []),
        ("doesn't", ["c"]),
        ("日本", ["b", "c"]),
        ("日本語", ["b"]),
        ("本語", ["b"]),
        ("語日", ["c"]),
        ("日語", []),
        ("テキ", ["b"]),
        ("국어", ["b"]),
        ('"and 한"', ["b"]),
        ("fee - late", ["a", "b"]),
        ("a* OR nothing", []),
        ("input:late", []),
    ],
)
def test_the_language_of_search(desk: Desk, text: str, found: list[str]) -> None:
    assert ids(desk, filled(desk, *TEXTS), text) == found


@pytest.mark.parametrize("text", ["", " ", '""', "-"])
def test_an_empty_search_is_refused(desk: Desk, text: str) -> None:
    run = filled(desk, verdict("a"))
    with pytest.raises(UsageError, match="no word to search for"):
        find(desk, run, text, blind=False)


def test_texts_that_hold_nul_are_found_behind_it(desk: Desk) -> None:
    run = filled(desk, verdict("a", input="before\x00after", output="\x00"))
    assert ids(desk, run, "after") == ids(desk, run, "before") == ["a"]


WORDS = st.sampled_from(["aa", "ab", "abc", "b", "ba", "c", "1", "10"])
TEXT = st.lists(WORDS | st.sampled_from([".", "-", "'", "\n"]), max_size=6).map(" ".join)
QUERY = st.lists(WORDS | st.tuples(WORDS, WORDS).map('"{0[0]} {0[1]}"'.format), min_size=1)


def naive(texts: tuple[str, ...], query: str) -> bool:
    """Whether every word begins a word of one of the texts, and every phrase is in one."""
    spoken = [re.findall("[a-z0-9]+", text) for text in texts]
    for quoted, plain in re.findall(r'"([^"]*)"|([^\s"]+)', query):
        if plain:
            if not any(word.startswith(plain) for text in spoken for word in text):
                return False
        elif not any(f" {quoted} " in f" {' '.join(text)} " for text in spoken):
            return False
    return True


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    with closing(open_desk(tmp_path_factory.mktemp("search") / "desk.db")) as found:
        yield found


@given(st.lists(st.tuples(TEXT, TEXT), max_size=4), st.data())
def test_what_is_found_is_what_a_naive_search_finds(
    shared: Desk, bodies: list[tuple[str, str]], data: st.DataObject
) -> None:
    made = [
        verdict(f"x{n}", input=one, jurors=[{"id": "j", "score": 1.0, "reason": two}],
                case={"test": "x"}, output="x", rubric="x")
        for n, (one, two) in enumerate(bodies)
    ]  # fmt: skip
    run = load(shared, report(*made))
    assert index(shared, run)
    query = " ".join(data.draw(QUERY))
    for blind in (False, True):
        wanted = [f"x{n}" for n, texts in enumerate(bodies) if naive(texts[: 2 - blind], query)]
        event("found" if wanted else "nothing found")
        assert ids(shared, run, query, blind=blind) == wanted


HOSTILE = st.lists(
    st.sampled_from([
        '"', "*", "(", ")", "^", "{", "}", ":", "+", "-", " AND ", " OR ", " NOT ", "NEAR(", " ",
        "name", "a", "日", "\x00", "\ud800", "\U000e0100", "é", "'", ";", "\\", "%", "\n",
    ]),
    max_size=12,
).map("".join)  # fmt: skip


@given(st.one_of(st.text(st.characters(exclude_categories=())), HOSTILE), st.booleans())
def test_no_search_is_an_error_of_the_index(shared: Desk, text: str, blind: bool) -> None:
    runs = shared.runs()
    run = runs[0] if runs else filled(shared, verdict("a"))
    try:
        find(shared, run, text, blind=blind)
    except UsageError as error:
        event("refused")
        assert "no word to search for" in str(error)  # noqa: PT017
    else:
        event("searched")


@pytest.mark.parametrize("text", ["a " * 3000, '"' + "a " * 3000 + '"', "a" * 100_000, "日" * 3000])
def test_a_search_may_be_long(desk: Desk, text: str) -> None:
    run = filled(desk, verdict("a"))
    desk.note(desk.find(run, "a"), "a note")
    assert ids(desk, run, text) == (["a"] if text.startswith("a ") else [])


# Notes


def test_notes_are_searched_like_texts(desk: Desk) -> None:
    run = filled(desk, verdict("a", input="late"), verdict("b", input="late"), verdict("c"))
    desk.note(desk.find(run, "a"), "The fée of 日本語")
    desk.label(desk.find(run, "c"), Truth.PASS, note="fee alone")
    assert ids(desk, run, "fee") == ["a", "c"]
    # What is sought may stand in part in the text and in part in the note.
    assert ids(desk, run, "late fee") == ["a"]
    assert ids(desk, run, "本語 late") == ["a"]
    assert ids(desk, run, '"fee alone"') == ["c"]
    assert ids(desk, run, '"alone fee"') == []


def test_the_newest_note_that_stands_counts(desk: Desk) -> None:
    run = filled(desk, verdict("a"))
    key = desk.find(run, "a")
    desk.note(key, "first")
    desk.note(key, "second")
    assert (ids(desk, run, "first"), ids(desk, run, "second")) == ([], ["a"])
    desk.undo()
    assert (ids(desk, run, "first"), ids(desk, run, "second")) == (["a"], [])
    desk.note(key, "")
    assert ids(desk, run, "first") == []


def test_one_content_in_two_runs_shares_its_notes(desk: Desk) -> None:
    one = filled(desk, verdict("a"))
    two = load(desk, report(verdict("a"), verdict("again", input="question a", output="answer a"),
                            report_id="two"))  # fmt: skip
    desk.note(desk.find(one, "a"), "seen")
    # Notes need no index.
    assert ids(desk, two, "seen") == ["a", "again"]


def test_a_blind_search_reads_the_own_notes_alone(desk: Desk) -> None:
    run = filled(desk, verdict("a"), verdict("b"))
    with closing(open_desk(desk.path, "ben")) as other:
        other.note(other.find(run, "a"), "telling")
    desk.note(desk.find(run, "b"), "telling")
    assert ids(desk, run, "telling") == ["a", "b"]
    assert ids(desk, run, "telling", blind=True) == ["b"]
