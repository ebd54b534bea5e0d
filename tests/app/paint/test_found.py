"""Found words: any word that starts like a search word, whatever case and accent."""

import pytest
from textual.content import Content

from reviewdesk.app.paint.inks import Ink
from reviewdesk.app.paint.item import found_line, highlight
from reviewdesk.app.paint.styled import heading, line


def marked(text: str, *words: str) -> list[str]:
    (content,) = highlight([line((text, Ink.NOTE))], words)
    assert content.plain == text
    return [text[span.start : span.end] for span in content.spans if span.style == Ink.FOUND]


@pytest.mark.parametrize(
    ("text", "words", "expected"),
    [
        ("Refund, refunded and prefund", ["REFUND"], ["Refund", "refund"]),
        ("Café, cafe\u0301s, CAFETERIA", ["cafe"], ["Café", "cafe", "CAFE"]),
        ("a cafe", ["Café"], ["cafe"]),
        ("key PARTNER_KEY monkey", ["key"], ["key", "KEY"]),
        ("今日本語", ["日本"], ["日本"]),
        ("one two-three", ["two-three"], ["two", "three"]),
        ("a.b*c", [".*"], []),
        ("reform", ["re", "reform"], ["reform"]),
        ("ﬁn", ["f"], ["ﬁ"]),
        ("anything", [], []),
        ("anything", [""], []),
    ],
)
def test_found_words(text: str, words: list[str], expected: list[str]) -> None:
    assert marked(text, *words) == expected


def test_other_inks_stay_below() -> None:
    (content,) = highlight([line(("refund", Ink.NOTE))], ["ref"])
    assert [(span.start, span.end, span.style) for span in content.spans] == [
        (0, 6, Ink.NOTE),
        (0, 3, Ink.FOUND),
    ]


def test_the_first_line_with_a_word() -> None:
    lines = [heading("RESPONSE", 20), Content("none"), Content("a response"), Content("response")]
    # The section's title is ours and not the report's.
    assert found_line(lines, ["response"]) == 2
    assert highlight(lines, ["response"])[0].spans == lines[0].spans
    assert found_line(lines, ["absent"]) is None
    assert found_line(lines, []) is None
