import json
from typing import Any

import pytest

from reviewdesk.web.server import Visitor, size_of


class Page(Visitor):
    """A visitor that keeps what it hears instead of passing it on to a console."""

    def __init__(self) -> None:
        self.heard: list[object] = []
        self._page = self  # type: ignore[assignment]

    def __getattribute__(self, name: str) -> object:
        if name not in {"send_bytes", "set_terminal_size", "focus", "blur", "send_json"}:
            return object.__getattribute__(self, name)

        async def keep(*what: object) -> None:
            self.heard.append([name, *what])

        return keep


async def heard(text: str) -> list[object]:
    page = Page()
    await page.hear(text)
    return page.heard


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (["stdin", "p"], ["send_bytes", b"p"]),
        (["stdin", "\x1b[<0;12;7M"], ["send_bytes", b"\x1b[<0;12;7M"]),
        (["stdin", "12 \x1b[200~1234567\x1b[201~"],
         ["send_bytes", b"12 \x1b[200~1234567\x1b[201~"]),
        (["stdin", "a\x1b[<0;1234567;7Mb"], ["send_bytes", b"ab"]),
        (["stdin", f"a\x1b[8;{'9' * 5000};1t"], ["send_bytes", b"a"]),
        (["resize", {"width": 150, "height": 42}], ["set_terminal_size", 150, 42]),
        (["ping", "1" * 50], ["send_json", ["pong", "1" * 40]]),
        (["focus"], ["focus"]),
        (["blur"], ["blur"]),
    ],
)  # fmt: skip
async def test_what_a_page_says(said: object, message: object) -> None:
    assert await heard(json.dumps(said)) == [message]


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
async def test_anything_else_is_dropped(text: str) -> None:
    assert await heard(text) == []


@pytest.mark.parametrize(
    ("width", "height", "size"),
    [
        ("150", "42", (150, 42)), ("150", None, None), (None, None, None), ("x", "42", None),
        ("99999", "42", None), ("-1", "42", None), ("\u0661", "42", None), ("1;ls", "42", None),
    ],
)  # fmt: skip
def test_a_size_in_an_address_is_two_small_numbers(width: Any, height: Any, size: Any) -> None:
    assert size_of(width, height) == size
