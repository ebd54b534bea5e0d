"""Hides API keys in whatever comes back, however it spells them.

Whether a key is in a text is found out by whole-text steps that take the same short time whatever
the text is, because all other calls wait meanwhile.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

HIDDEN: Final = "[key]"

SHORTEST: Final = 8
"""What is shorter is a local server's placeholder, and hiding it would maim what jurors say."""

LONG: Final = 64 * 1024
"""Characters of a text that is hidden as a whole where it holds a key: no juror says so much, and
a hostile one must not take up the time of the others."""

_ROUNDS: Final = 4
"""How often one escape may stand within another."""

_NOISE: Final = b"\\;=\0\r\n"
"""What escapes leave behind, lines are broken by, or UTF-16 has between letters."""

_REFERENCES: Final = LONG // 4
"""Numbered characters of HTML, which take the longest: a text with more of them is hidden unread,
as only a hostile one has so many."""

_REFERENCE = re.compile(rb"&#0{0,5}(\d{2,3});|&#x0{0,5}([0-9a-f]{2});")


class Redactor:
    """Replaces keys: as they are, escaped as in JSON, URLs or HTML, in hex and in base64."""

    __slots__ = ("_every", "_forms", "_keys", "_plain")

    def __init__(self, keys: Iterable[str]) -> None:
        """Take the keys; blanks around them and empty ones do not count."""
        known = sorted({key.strip() for key in keys}, key=lambda key: (-len(key), key))
        self._keys = [key for key in known if len(key) >= SHORTEST]
        forms = self._keys + [form for key in self._keys for form in _encoded(key)]
        self._forms = list(dict.fromkeys(spelt for form in forms for spelt in _bare(form)))
        self._plain = re.compile("|".join(map(re.escape, forms)), re.IGNORECASE)
        spelt = ("".join(map(_spelt, key)) for key in self._keys)
        self._every = re.compile("|".join(spelt), re.IGNORECASE)

    def __repr__(self) -> str:
        """Nothing of what is hidden."""
        return "Redactor()"

    def text(self, text: str) -> str:
        """The text without any key."""
        if not self._forms or not self._is_in(text):
            return text
        if len(text) > LONG:
            return HIDDEN
        text = self._every.sub(HIDDEN, self._plain.sub(HIDDEN, text))
        return HIDDEN if self._is_in(text) else text

    def short(self, text: str, most: int) -> str:
        """The beginning of a text without any key, nor the beginning of one where it is cut."""
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
        """Headers without any key, in names as in values, and of these only the beginning."""
        return {self.text(name): self.short(value, most) for name, value in headers.items()}

    def _is_in(self, text: str) -> bool:
        """Whether a text spells a key; each round undoes the escapes that the one before left."""
        data = text.encode("utf-8", "surrogatepass").lower()
        for _ in range(_ROUNDS):
            if any(form in data for form in self._forms):
                return True
            if b"&" in data and data.count(b"&#") > _REFERENCES:
                return True
            undone = _undone(data)
            if undone == data:
                return False
            data = undone
        return any(form in data for form in self._forms)


def _undone(data: bytes) -> bytes:
    """Bytes in lower case without one layer of escapes, and without what these leave behind."""
    if b"\\" in data:
        data = data.replace(b"\\u00", b"%").replace(b"\\x", b"%")
    if b"&#" in data:
        data = _REFERENCE.sub(_meant, data)
    data = data.translate(None, _NOISE)
    if b"%" not in data:
        return data
    # Quoted-printable is what percent escapes are with another sign, and is undone all at once; a
    # doubled sign would be taken for a single one, and what is left of the signs is noise.
    for run in (1024, 64, 8):
        data = data.replace(b"%" * run, b"%")
    while b"%%" in data:
        data = data.replace(b"%%", b"%")
    return binascii.a2b_qp(data.replace(b"%", b"=")).translate(None, _NOISE)


def _meant(reference: re.Match[bytes]) -> bytes:
    code = int(reference[1]) if reference[1] else int(reference[2], 16)
    return b"%c" % code if code < 256 else b""


def _bare(form: str) -> Iterator[bytes]:
    """What a spelling is before and after escapes are undone, in lower case."""
    data = form.encode("utf-8", "surrogatepass").lower()
    yield data
    bare = data.translate(None, _NOISE)
    if len(bare) >= SHORTEST:
        yield bare


def _spelt(char: str) -> str:
    """One character however it is escaped; the bounds keep a long row of backslashes cheap."""
    code = ord(char)
    return (
        rf"(?:\\{{0,8}}{re.escape(char)}|\\{{1,8}}u00{code:02x}|\\{{1,8}}x{code:02x}"
        rf"|%(?:25){{0,3}}{code:02x}|&\#0{{0,5}}{code};|&\#x0{{0,5}}{code:x};)"
    )


def _encoded(key: str) -> list[str]:
    """What hex and base64 make of a key, wherever it stands in the encoded bytes."""
    forms = [key.encode().hex()]
    for before in range(3):
        raw = b"\0" * before + key.encode()
        # Characters that also encode a neighbour of the key are left out.
        first, last = -(-before * 8 // 6), len(raw) * 8 // 6
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            forms += [encode(raw).decode()[first:last]]
    return list(dict.fromkeys(forms))
