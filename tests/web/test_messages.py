import json

import pytest

from reviewdesk.web.messages import Focused, Pinged, Resized, Typed, read_message, size_of


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (["stdin", "p"], Typed("p")),
        (["stdin", "\x1b[<0;12;7M"], Typed("\x1b[<0;12;7M")),
        (["stdin", "123456 \x1b[200~1234567\x1b[201~"], Typed("123456 \x1b[200~1234567\x1b[201~")),
        (["stdin", "a\x1b[<0;1234567;7Mb"], Typed("ab")),
        (["stdin", f"a\x1b[8;{'9' * 5000};1t"], Typed("a")),
        (["resize", {"width": 150, "height": 42}], Resized(150, 42)),
        (["ping", "17"], Pinged("17")),
        (["ping", "1" * 50], Pinged("1" * 40)),
        (["focus"], Focused(True)),
        (["blur"], Focused(False)),
    ],
)
def test_what_a_page_says(said: object, message: object) -> None:
    assert read_message(json.dumps(said)) == message


@pytest.mark.parametrize(
    "text",
    [
        "", "p", "[", "[" * 200_000, "null", "{}", '["stdin"]', '["stdin", 1]', '["stdin", "a", 1]',
        '["resize", {"width": 0, "height": 9}]', '["resize", {"width": 1001, "height": 9}]',
        '["resize", {"width": "9", "height": 9}]', '["resize", {"width": -9, "height": 9}]',
        '["resize", {"width": 1e9, "height": 9}]', '["resize", {"width": true, "height": 9}]',
        '["ping", {}]', '["quit"]', '["focus", 1]',
    ],
)  # fmt: skip
def test_anything_else_is_dropped(text: str) -> None:
    assert read_message(text) is None


@pytest.mark.parametrize(
    ("width", "height", "size"),
    [
        ("150", "42", Resized(150, 42)), ("150", None, None), (None, None, None), ("x", "42", None),
        ("99999", "42", None), ("-1", "42", None), ("\u0661", "42", None), ("1;ls", "42", None),
    ],
)  # fmt: skip
def test_a_size_in_an_address_is_two_small_numbers(
    width: str | None, height: str | None, size: Resized | None
) -> None:
    assert size_of(width, height) == size
