"""The one gate for text from outside: it makes control and hidden characters visible.

A character is kept, replaced by a symbol (``ESC`` becomes ``␛``) or spelled out (``<U+202E>``).
Joiners and variation selectors are kept where an emoji or an Arabic word needs them; elsewhere they
only hide something.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

_SUSPECT = (
    "[^\n -~\u00a0-\u00ac\u00ae-\u034e\u0350-\u0377\u0400-\u052f\u0620-\u064a\u0904-\u0939"
    "\u1e00-\u1eff\u2010-\u2027\u2030-\u205e\u20a0-\u20bf\u2100-\u218b\u2190-\u2426"
    "\u2500-\u27ff\u2900-\u2b73\u3000-\u303f\u3041-\u3096\u30a1-\u30ff\u4e00-\u9fa5\uac00-\ud7a3]"
)
"""Every character outside the ranges known to be assigned and visible."""

_FOREIGN = re.compile("[^\x00-\u02ff](?<![\u2010-\u20bf\u2100-\u27ff])")
"""What is beyond Latin letters, punctuation and symbols; it compiles ten times as fast."""

_CONTROLS = (
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff]"
)

MOST_MARKS = 8
"""The combining marks that a character keeps: more would be drawn over the lines around it."""
_PILE = f"(?:[\u0300-\u036f\u0483-\u0489\u302a-\u302f]|{_SUSPECT}){{{MOST_MARKS + 1},}}"
"""A run in which a character may have too many marks."""

_FORMULA = re.compile(r"'*[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]")
"""The start of a text that a spreadsheet may run as a formula, or of one quoted against that."""

_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Characters that Unicode assigns as letters or marks but that fonts draw as nothing."""

_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Cn", "Zl", "Zp"})
_ZWNJ = "\u200c"
_ZWJ = "\u200d"
_EMOJI_STYLE = "\ufe0f"

_JOINING = (
    (0x0600, 0x08FF),  # Arabic, Syriac, Thaana, N'Ko and their supplements
    (0x0900, 0x0DFF),  # Devanagari to Sinhala
    (0x0F00, 0x109F),  # Tibetan, Myanmar
    (0x1780, 0x18AF),  # Khmer, Mongolian
    (0xFB50, 0xFDFF),  # Arabic presentation forms
    (0xFE70, 0xFEFC),
)


def show(text: str, limit: int = 20_000) -> str:
    """Return the text with every hidden character made visible, cut after ``limit`` characters.

    Line breaks stay, a tab becomes four spaces, and the end says how many were cut.
    """
    if 0 < limit < len(text) and text[limit - 1] == "\r" and text[limit] == "\n":
        limit -= 1  # a pair of CR and LF is one line break
    shown = text[:limit]
    if _is_suspect(shown):
        head = shown.replace("\r\n", "\n")
        shown = re.sub(_SUSPECT, lambda match: _replacement(head, match.start()), head)
    shown = cap_marks(shown, lambda marks: f"<{len(marks)} more marks>")
    return f"{shown}… {len(text) - limit} more" if len(text) > limit else shown


def show_line(text: str, limit: int = 500) -> str:
    """Return the text as ``show`` does, but on one line: a line break becomes ``⏎``."""
    return show(text, limit).replace("\n", "⏎")


def without_formula(text: str) -> str:
    return f"'{text}" if _FORMULA.match(text) else text


def with_formula(text: str) -> str:
    """Return the text that ``without_formula`` was given."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def cap_marks(text: str, instead: Callable[[str], str]) -> str:
    """Return the text with at most 8 combining marks a character; ``instead`` words others."""
    if text.isascii() or _FOREIGN.search(text) is None:
        return text
    return re.sub(_PILE, lambda run: _cap_run(run[0], instead), text)


def _cap_run(run: str, instead: Callable[[str], str]) -> str:
    kept: list[str] = []
    count = 0
    beyond = ""
    for char in run:
        # A mark is drawn on the character before it, or joins the next one to it.
        marks = (
            unicodedata.category(char)[0] == "M"
            or char in (_ZWNJ, _ZWJ)
            or "\u1160" <= char <= "\u11ff"
            or "\ud7b0" <= char <= "\ud7ff"
        )
        count = count + 1 if marks else 0
        if count > MOST_MARKS:
            beyond += char
            continue
        if beyond:
            kept.append(instead(beyond))
            beyond = ""
        kept.append(char)
    return "".join(kept) + (instead(beyond) if beyond else "")


def hidden_count(text: str) -> int:
    """Count the characters that ``show`` has to make visible; tabs and line breaks do not count."""
    beyond = len(text) - len(cap_marks(text, lambda _: ""))
    text = text.replace("\r\n", "\n") if _is_suspect(text) else ""
    return beyond + sum(
        match[0] != "\t" and _replacement(text, match.start()) != match[0]
        for match in re.finditer(_SUSPECT, text)
    )


def strip_controls(text: str) -> str:
    """Drop control characters and marks beyond 8 from a line about to be painted."""
    return cap_marks(text if text.isprintable() else re.sub(_CONTROLS, "", text), lambda _: "")


def _is_suspect(text: str) -> bool:
    plain = text.replace("\n", "").replace("\u00a0", "")
    if plain.isprintable() and (text.isascii() or _FOREIGN.search(plain) is None):
        return False
    return re.search(_SUSPECT, text) is not None


def _replacement(text: str, at: int) -> str:
    char = text[at]
    if char == "\t":
        return "    "
    if char in (_ZWNJ, _ZWJ):
        return char if _joins(text, at) else _code_point(char)
    if _is_selector(char):
        return char if _selects(text, at) else _code_point(char)
    return _replace_alone(char)


@lru_cache(maxsize=4096)
def _replace_alone(char: str) -> str:
    """Return the replacement of a character whose neighbours do not matter."""
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if char in _BLANK or unicodedata.category(char) in _HIDDEN_CATEGORIES:
        return _code_point(char)
    return char


def _code_point(char: str) -> str:
    return f"<U+{ord(char):04X}>"


def _is_selector(char: str) -> bool:
    return (
        "\ufe00" <= char <= "\ufe0f"
        or "\U000e0100" <= char <= "\U000e01ef"
        or char in "\u180b\u180c\u180d\u180f"
    )


def _joins(text: str, at: int) -> bool:
    before = text[at - 1 : at]
    after = text[at + 1 : at + 2]
    if not before:
        return False
    if _in_joining_script(before):
        joined = after and _in_joining_script(after)
        # After a virama a joiner changes how letters are drawn.
        return unicodedata.combining(before) == 9 or bool(joined)
    if text[at] == _ZWNJ or not after or not _is_pictograph(after):
        return False
    if before == _EMOJI_STYLE:
        return at >= 2 and _is_pictograph(text[at - 2])
    return _is_pictograph(before)


def _selects(text: str, at: int) -> bool:
    """Return True if a variation selector follows a character that has variants."""
    char = text[at]
    before = text[at - 1 : at]
    if not before:
        return False
    if char in ("\ufe0e", _EMOJI_STYLE):
        return before in "#*0123456789‼⁉〰〽" or _is_pictograph(before)
    if char in "\u180b\u180c\u180d\u180f":
        return "\u1820" <= before <= "\u18aa"
    return unicodedata.category(before) in ("Lo", "Sm") and not _is_selector(before)


def _in_joining_script(char: str) -> bool:
    code = ord(char)
    return any(low <= code <= high for low, high in _JOINING) and (
        unicodedata.category(char)[0] in "LM"
    )


def _is_pictograph(char: str) -> bool:
    return char > "\x7f" and unicodedata.category(char) in ("So", "Sm", "Sk")


SHOWN = 4
"""The fewest characters of a key that are hidden beside a mask; fewer reveal nothing."""

LONG_PART = 12
"""The fewest characters of a key that are hidden without a mask; fewer may be a word."""

_MASK = re.compile(
    r" ?(?:[*•●∗·.…█▒xX#_-]{2,}|[*•●…]|\\{1,8}u20(?:26|22)|&(?:hellip|bull);"
    r"|[\[<(](?:redacted|masked|hidden|key|\.{3})[\])>])+ ?",
    re.IGNORECASE,
)


class MaskedKeys:
    """Replaces long parts of keys, and masks together with the parts of keys next to them."""

    __slots__ = ("_chars", "_long", "_longest", "_parts", "_run")

    def __init__(self, keys: Iterable[str]) -> None:
        known = [key.lower() for key in keys]
        self._chars = frozenset("".join(known))
        self._longest = max(map(len, known), default=0)
        self._parts = {part for key in known for part in _parts(key, SHOWN)}
        self._long = {part for key in known for part in _parts(key, LONG_PART)}
        chars = re.escape("".join(sorted(self._chars)))
        self._run = re.compile(f"[{chars}]{{{LONG_PART},}}" if chars else "(?!)", re.IGNORECASE)

    def without(self, text: str, hidden: str) -> str:
        """Return the text with each long part of a key, mask, and part beside a mask replaced."""

        def replaced(run: re.Match[str]) -> str:
            is_key = any(part in self._long for part in _parts(run[0].lower(), LONG_PART))
            return hidden if is_key else run[0]

        text = self._run.sub(replaced, text)
        low = text.lower()
        if not self._parts or len(low) != len(text):
            return text
        parts = []
        done = 0
        for mask in _MASK.finditer(low):
            first, last = mask.span()
            least = max(done, first - self._longest)
            while first > least and low[first - 1] in self._chars:
                first -= 1
            most = min(len(low), last + self._longest)
            while last < most and low[last] in self._chars:
                last += 1
            spans = range(first, last - SHOWN + 1)
            if any(low[at : at + SHOWN] in self._parts for at in spans):
                parts += [text[done:first], hidden]
                done = last
        return "".join([*parts, text[done:]])


def _parts(text: str, size: int) -> Iterator[str]:
    return (text[at : at + size] for at in range(len(text) - size + 1))
