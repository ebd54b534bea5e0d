"""Keys come from the environment, and no spelling of one survives."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.live.keys import HIDDEN, LONG, Key, Redactor, key_of, known_keys, redactor
from reviewdesk.live.wires.vendors import endpoint
from tests.live.builders import KEY, KEYS, juror

KEYS_DRAWN = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=8, max_size=60)


def test_a_key_is_stripped_and_not_shown() -> None:
    place = endpoint(juror("http://x/v1"))
    found = key_of(place, {"TEST_KEY": f"\n {KEY}\t"})
    assert found.value == KEY
    assert KEY not in repr(found)


def test_where_none_is_needed_none_is_missed() -> None:
    place = endpoint(juror("http://x/v1"))
    assert not key_of(place, {}).value
    one = juror("http://x/v1", "ollama")
    # Without a variable of the juror's own, a local server gets no key, whoever's is set.
    free = endpoint(type(one)(one.name, one.model, "ollama"))
    assert key_of(free, {"OPENAI_API_KEY": KEY}) == Key()


def test_a_malformed_key_is_named_by_its_variable_alone() -> None:
    found = key_of(endpoint(juror("http://x/v1")), {"TEST_KEY": "two words-and-more"})
    assert found.value is None
    assert found.problem is not None
    assert "TEST_KEY" in found.problem
    assert "words" not in found.problem


def spellings(key: str) -> dict[str, str]:
    escaped = "".join(f"\\u{ord(char):04x}" for char in key)
    return {
        "plain": key,
        "upper": key.upper(),
        "JSON": json.dumps(key)[1:-1],
        "JSON in JSON": json.dumps(json.dumps(key))[3:-3],
        "JSON with slashes": json.dumps(key)[1:-1].replace("/", "\\/"),
        "code points": escaped,
        "code points in JSON": escaped.replace("\\", "\\\\"),
        "half and half": key[:4] + escaped[24:],
        "URL": quote(key, safe=""),
        "form": quote_plus(key),
        "URL twice": quote(quote(key, safe=""), safe=""),
        "every byte": "".join(f"%{ord(char):02X}" for char in key),
        "HTML": "".join(f"&#{ord(char)};" for char in key),
        "hex": key.encode().hex(),
        "UTF-16": key.encode("utf-16-le").decode(),
        "UTF-16 in JSON": json.dumps(key.encode("utf-16-be").decode())[1:-1],
        "base64": base64.b64encode(key.encode()).decode().rstrip("="),
        "base64 of a header": base64.b64encode(f"user:{key}".encode()).decode().rstrip("="),
        "base64 of a line": base64.b64encode(f"key {key}".encode()).decode().rstrip("="),
        "base64 for URLs": base64.urlsafe_b64encode(key.encode()).decode().rstrip("="),
    }


@pytest.mark.parametrize("name", spellings(KEY))
def test_every_spelling_is_hidden(name: str) -> None:
    text = spellings(KEY)[name]
    hidden = Redactor([KEY]).text(f"before {text} after")
    assert HIDDEN in hidden
    if name.startswith("UTF-16"):
        assert hidden == HIDDEN
        return
    # Of base64 the first and the last characters also spell what is beside the key.
    left = hidden.removeprefix("before ").removesuffix(" after").replace(HIDDEN, "")
    assert len(left) <= (8 if name.startswith("base64") else 0)


@given(key=KEYS_DRAWN, text=st.text(), at=st.integers(0, 20))
def test_no_key_is_left_in_any_text(key: str, text: str, at: int) -> None:
    hide = Redactor([key])
    for spelt in (key, json.dumps(key)[1:-1], quote(key, safe="")):
        hidden = hide.text(text[:at] + spelt + text[at:])
        assert key not in hidden.replace(HIDDEN, "\n")


ESCAPES: tuple[Callable[[str], str], ...] = (
    lambda char: char,
    str.upper,
    lambda char: f"\\u{ord(char):04x}",
    lambda char: f"\\u{ord(char):04X}",
    lambda char: f"\\\\u{ord(char):04x}",
    lambda char: f"\\x{ord(char):02x}",
    lambda char: f"%{ord(char):02X}",
    lambda char: f"%25{ord(char):02x}",
    lambda char: f"%%{ord(char):02x}",
    lambda char: f"&#{ord(char)};",
    lambda char: f"&#x{ord(char):02X};",
)


@given(
    escapes=st.lists(st.sampled_from(ESCAPES), min_size=len(KEY), max_size=len(KEY)),
    before=st.text(max_size=30),
    after=st.text(max_size=30),
    long=st.booleans(),
)
def test_whatever_is_escaped_and_how_nothing_spells_the_key(
    escapes: list[Callable[[str], str]], before: str, after: str, *, long: bool
) -> None:
    spelt = "".join(escape(char) for escape, char in zip(escapes, KEY, strict=True))
    hidden = Redactor([KEY]).text(before + spelt + after + " " * (LONG if long else 0))
    assert HIDDEN in hidden
    assert spelt not in hidden


@given(st.sampled_from(sorted(spellings(KEY))), st.integers(0, 600), st.integers(0, 200))
def test_a_cut_leaves_nothing_of_a_key(name: str, before: int, most: int) -> None:
    spelt = spellings(KEY)[name]
    cut = Redactor([KEY]).short("." * before + spelt, most)
    assert len(cut) <= most
    assert spelt[:8] not in cut or name == "base64 of a header"


def test_a_cut_leaves_no_beginning_of_a_key_that_breaks_off() -> None:
    # Nobody else's text ends so: what stood there was cut out of the key before it came.
    cut = Redactor([KEY]).short(f"key: {KEY[:-1]} and more", 5 + 12)
    assert cut == "key: "
    assert Redactor([KEY]).short(f"key: {KEY[:7]} and more", 5 + 7) == f"key: {KEY[:7]}"


def test_more_references_than_a_reply_has_room_for_are_hidden_unread() -> None:
    assert Redactor([KEY]).text("&#37;" * (LONG // 4)) == "&#37;" * (LONG // 4)
    assert Redactor([KEY]).text("&#37;" * (LONG // 4 + 1)) == HIDDEN


@given(text=st.text())
def test_other_texts_stay(text: str) -> None:
    assert Redactor([KEY]).text(text) == text
    assert Redactor([]).text(text) == text


def test_a_placeholder_of_a_local_server_is_no_secret() -> None:
    assert Redactor(["ollama", "", "  "]).text("ollama says") == "ollama says"


def test_longer_keys_go_before_those_they_begin_with() -> None:
    assert Redactor(["sk-short-key", "sk-short-key-longer"]).text("sk-short-key-longer") == HIDDEN


@pytest.mark.parametrize("name", ["plain", "code points", "every byte"])
def test_a_long_text_that_holds_a_key_is_hidden_whole(name: str) -> None:
    assert Redactor([KEY]).text(" " * LONG + spellings(KEY)[name]) == HIDDEN
    assert Redactor([KEY]).text(" " * LONG) == " " * LONG


MASKS = (
    "...", "****", "…", "...****", "••••••", " ... ", "xxxx", "\\u2026", "&hellip;", "[redacted]",
)  # fmt: skip


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("start", ["", "sk-", KEY[:4], KEY[:9].upper()])
def test_a_masked_key_is_hidden_with_its_mask(mask: str, start: str) -> None:
    hide = Redactor([KEY])
    assert hide.text(f"got:{start}{mask}{KEY[-4:]}.") == f"got:{HIDDEN}."
    if len(start) >= 4:
        assert hide.text(f"got {start}{mask}") == f"got {HIDDEN}"
        assert hide.text(f"got {start}{mask}{KEY[-2:]}.") == f"got {HIDDEN}."


@given(
    key=KEYS_DRAWN,
    mask=st.text(st.sampled_from("*•…"), min_size=1, max_size=40),
    start=st.integers(0, 60),
    tail=st.integers(0, 60),
    around=st.tuples(st.text(max_size=20), st.text(max_size=20)),
)
def test_no_end_of_a_key_survives_beside_a_mask(
    key: str, mask: str, start: int, tail: int, around: tuple[str, str]
) -> None:
    shown = key[: min(start, len(key) - 1)], key[len(key) - min(tail, len(key) - 1) :]
    left = Redactor([key]).text(around[0] + shown[0] + mask + shown[1] + around[1]).lower()
    for at in re.finditer(r"[*•…]+", left):
        assert not any(left[: at.start()].endswith(key[:size].lower()) for size in range(4, 60))
        for size in range(4, len(key)):
            assert not left.startswith(key[-size:].lower(), at.end())


def test_masks_beside_other_texts_stay() -> None:
    text = "sk-other...****9999, and so on ... sk- *** 01 " + "." * 1000
    assert Redactor([KEY]).text(text) == text


def test_headers_are_hidden_in_name_and_value() -> None:
    assert Redactor([KEY]).headers({f"x-{KEY}": KEY}) == {f"x-{HIDDEN}": HIDDEN}


def test_a_panel_hides_all_keys_it_knows() -> None:
    environment = KEYS | {"OPENAI_API_KEY": "sk-other-0123", "HOME": "/somewhere"}
    hide = redactor([juror("http://x/v1")], environment)
    assert hide.text(f"{KEY} sk-other-0123 /somewhere") == f"{HIDDEN} {HIDDEN} /somewhere"
    assert known_keys(environment) == {"sk-other-0123"}
    assert KEY not in repr(hide)
