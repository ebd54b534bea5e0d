import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.domain.query.filter import SearchTerm, parse_search, search_words, spaced
from reviewdesk.errors import UsageError


def word(text: str) -> SearchTerm:
    return SearchTerm(text, beginning=True)


def phrase(text: str) -> SearchTerm:
    return SearchTerm(text, beginning=False)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("refund", [word("refund")]),
        ("  late\tfee\n", [word("late"), word("fee")]),
        ('"late fee"', [phrase("late fee")]),
        ('refund "late fee" soon', [word("refund"), phrase("late fee"), word("soon")]),
        ('ab"c d"ef', [word("ab"), phrase("c d"), word("ef")]),
        # A quote that is not closed is plain text, and so is everything an index might act on.
        ('"late fee', [word("late"), word("fee")]),
        ("gpt-4.1 don't", [word("gpt-4.1"), word("don't")]),
        ("a AND (b) OR c* NEAR -d {e}: ^f", [word(one) for one in
         ("a", "AND", "(b)", "OR", "c*", "NEAR", "-d", "{e}:", "^f")]),
        # What has no letter and no digit is not looked for.
        ('refund - "" "!?" …', [word("refund")]),
        ("日本語", [word(" 日  本  語 ")]),
    ],
)  # fmt: skip
def test_what_is_sought(text: str, found: list[SearchTerm]) -> None:
    assert list(parse_search(text)) == found


@pytest.mark.parametrize("text", ["", "   ", '""', '"', "- ! ...", "\x00", "\ud800", "́"])
def test_nothing_is_sought(text: str) -> None:
    with pytest.raises(UsageError, match="no word to search for"):
        parse_search(text)
    assert search_words(text) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('Refund "late fee" refund late', ["Refund", "late", "fee", "refund"]),
        ("(refund), gpt-4.1!", ["refund", "gpt-4.1"]),
        ("日本語 ok", ["日本語", "ok"]),
    ],
)
def test_words_to_highlight(text: str, found: list[str]) -> None:
    assert search_words(text) == found


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("plain text, as it is", "plain text, as it is"),
        ("a\x00b", "a b"),
        ("é\x00\udcffb", "é  b"),
        # Ideographs, kana, a halfwidth one and hangul each stand apart; Latin letters stay whole.
        ("東京tower", " 東  京 tower"), ("カﾀ", " カ  タ "), ("한국 é", " 한  국  é"),
        ("\U00020000x", " \U00020000 x"),
        # Compatible and decomposed forms are one form.
        ("ＡＢ ﬁne", "AB fine"), ("か\u3099", " が "), ("e\u0301", "é"),
    ],
)  # fmt: skip
def test_a_text_as_it_is_indexed(text: str, made: str) -> None:
    assert spaced(text) == made


@given(st.text(st.characters(exclude_categories=())))
def test_what_is_indexed_can_be_stored_and_keeps_no_nul(text: str) -> None:
    made = spaced(text)
    made.encode()
    assert "\x00" not in made


@given(st.text())
def test_words_are_in_the_search(text: str) -> None:
    for one in search_words(text):
        assert one in text
