"""Hide API keys in any text that comes back, however they are encoded.

A key is searched for in whole-text steps that take the same short time for any text, because all
other calls wait meanwhile.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from reviewdesk.domain.masked_keys import MaskedKeys

HIDDEN: Final = "[key]"

SHORTEST: Final = 8
"""The shortest key that is hidden; a shorter one is a local server's placeholder, often a plain
word."""

LONG: Final = 64 * 1024
"""The characters from which a text that holds a key is hidden as a whole. No juror writes so much,
and a hostile one must not take up the time of the others."""

_ROUNDS: Final = 4
"""The most layers of escapes that are undone."""

_NOISE: Final = b"\\;=\0\r\n"
"""Bytes that escapes leave behind, that break lines, or that UTF-16 has between letters."""

_REFERENCES: Final = LONG // 4
"""The most numeric HTML references that are decoded, as they take the longest. A text with more is
hidden unread, as only a hostile one has so many."""

_REFERENCE = re.compile(rb"&#0{0,5}(\d{2,3});|&#x0{0,5}([0-9a-f]{2});")


class Redactor:
    """Replaces keys: plain, escaped as in JSON, URLs or HTML, in hex, in base64, and masked."""

    __slots__ = ("_every", "_forms", "_keys", "_masked", "_plain")

    def __init__(self, keys: Iterable[str]) -> None:
        """Store the keys; surrounding blanks and empty keys are ignored."""
        known = sorted({key.strip() for key in keys}, key=lambda key: (-len(key), key))
        self._keys = [key for key in known if len(key) >= SHORTEST]
        forms = self._keys + [form for key in self._keys for form in _encoded_forms(key)]
        self._forms = list(dict.fromkeys(spelt for form in forms for spelt in _search_forms(form)))
        self._plain = re.compile("|".join(map(re.escape, forms)), re.IGNORECASE)
        spelt = ("".join(map(_char_pattern, key)) for key in self._keys)
        self._every = re.compile("|".join(spelt), re.IGNORECASE)
        self._masked = MaskedKeys(self._keys)

    def __repr__(self) -> str:
        """Return a text without any key."""
        return "Redactor()"

    def text(self, text: str) -> str:
        """Return the text with every key replaced by ``HIDDEN``."""
        if not self._forms:
            return text
        if self._is_in(text):
            if len(text) > LONG:
                return HIDDEN
            text = self._every.sub(HIDDEN, self._plain.sub(HIDDEN, text))
            if self._is_in(text):
                return HIDDEN
        return self._masked.without(text, HIDDEN)

    def short(self, text: str, most: int) -> str:
        """Return the beginning of a text without any key, nor part of one where it is cut."""
        hidden = self.text(text)
        if len(hidden) <= most:
            return hidden
        cut = hidden[:most]
        for key in self._keys:
            for size in range(len(key) - 1, SHORTEST - 1, -1):
                if cut.endswith(key[:size]):
                    return cut[:-size]
        return cut

    def headers(self, headers: Mapping[str, str], most: int = LONG) -> dict[str, str]:
        """Return headers without any key in names and values, and only the start of each value."""
        return {self.text(name): self.short(value, most) for name, value in headers.items()}

    def _is_in(self, text: str) -> bool:
        """Return True if a text holds a key; each round undoes one layer of escapes."""
        data = text.encode("utf-8", "surrogatepass").lower()
        for _ in range(_ROUNDS):
            if any(form in data for form in self._forms):
                return True
            if b"&" in data and data.count(b"&#") > _REFERENCES:
                return True
            undone = _undo_layer(data)
            if undone == data:
                return False
            data = undone
        return any(form in data for form in self._forms)


def _undo_layer(data: bytes) -> bytes:
    """Remove one layer of escapes, and the noise it leaves, from bytes in lower case."""
    if b"\\" in data:
        data = data.replace(b"\\u00", b"%").replace(b"\\x", b"%")
    if b"&#" in data:
        data = _REFERENCE.sub(_decode_reference, data)
    data = data.translate(None, _NOISE)
    if b"%" not in data:
        return data
    # Percent escapes become quoted-printable when the sign is replaced, and are then decoded in one
    # step. A doubled sign would be read as a single one; signs that remain are noise.
    for run in (1024, 64, 8):
        data = data.replace(b"%" * run, b"%")
    while b"%%" in data:
        data = data.replace(b"%%", b"%")
    return binascii.a2b_qp(data.replace(b"%", b"=")).translate(None, _NOISE)


def _decode_reference(reference: re.Match[bytes]) -> bytes:
    code = int(reference[1]) if reference[1] else int(reference[2], 16)
    return b"%c" % code if code < 256 else b""


def _search_forms(form: str) -> Iterator[bytes]:
    data = form.encode("utf-8", "surrogatepass").lower()
    yield data
    bare = data.translate(None, _NOISE)
    if len(bare) >= SHORTEST:
        yield bare


def _char_pattern(char: str) -> str:
    """Return a pattern for one character in any escape; bounds keep a row of backslashes cheap."""
    code = ord(char)
    return (
        rf"(?:\\{{0,8}}{re.escape(char)}|\\{{1,8}}u00{code:02x}|\\{{1,8}}x{code:02x}"
        rf"|%(?:25){{0,3}}{code:02x}|&\#0{{0,5}}{code};|&\#x0{{0,5}}{code:x};)"
    )


def _encoded_forms(key: str) -> list[str]:
    """Return the hex and base64 forms of a key, for each position in the encoded bytes."""
    forms = [key.encode().hex()]
    for before in range(3):
        raw = b"\0" * before + key.encode()
        # Characters that also encode a neighbour of the key are left out.
        first = -(-before * 8 // 6)
        last = len(raw) * 8 // 6
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            forms += [encode(raw).decode()[first:last]]
    return list(dict.fromkeys(forms))
