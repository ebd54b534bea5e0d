"""API keys: read from the environment or by reference, and checked before anything is sent.

A reference such as ``@openai`` stands for a command or a keyring entry of the user's settings.
"""

import asyncio
import base64
import binascii
import os
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from threading import Lock

from reviewdesk.domain.panel.juror import Juror
from reviewdesk.domain.panel.vendors import VENDORS
from reviewdesk.domain.safetext import MaskedKeys
from reviewdesk.live.wires.endpoints import Endpoint

HIDDEN = "[key]"

SHORTEST = 8
"""The shortest key that is hidden; a shorter one is a local server's placeholder, often a plain
word."""

LONG = 64 * 1024
"""The length from which a text with a key is hidden as a whole. No juror writes this much, and a
hostile one must not use up the time of the others."""

_NOISE = b"\\;=\0\r\n"
"""Bytes that escapes leave behind, that break lines, or that UTF-16 puts between letters."""

_REFERENCES = LONG // 4
"""The most numeric HTML references that are decoded, as they take the longest. A text with more is
hidden unread, because only a hostile text has so many."""

_REFERENCE = re.compile(rb"&#0{0,5}(\d{2,3});|&#x0{0,5}([0-9a-f]{2});")


class Redactor:
    """Replaces keys: plain, escaped as in JSON, URLs or HTML, in hex, in base64, and masked."""

    def __init__(self, keys: Iterable[str]) -> None:
        """Store the keys; surrounding blanks and empty keys are ignored."""
        known = sorted({key.strip() for key in keys}, key=lambda key: (-len(key), key))
        keys = [key for key in known if len(key) >= SHORTEST]
        forms = keys + [form for key in keys for form in _encoded_forms(key)]
        known_bytes = [form.encode("utf-8", "surrogatepass").lower() for form in forms]
        bare = (form.translate(None, _NOISE) for form in known_bytes)
        self._forms = {*known_bytes, *(form for form in bare if len(form) >= SHORTEST)}
        self._plain = re.compile("|".join(map(re.escape, forms)), re.IGNORECASE)
        spelt = ("".join(map(_char_pattern, key)) for key in keys)
        self._every = re.compile("|".join(spelt), re.IGNORECASE)
        self._masked = MaskedKeys(keys)

    def __repr__(self) -> str:
        return "Redactor()"

    def text(self, text: str) -> str:
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
        """Return the beginning of a text; keys are hidden first, so that none is cut in two."""
        return self.text(text)[:most]

    def headers(self, headers: Mapping[str, str], most: int = LONG) -> dict[str, str]:
        """Return headers without any key in names and values, and only the start of each value."""
        return {self.text(name): self.short(value, most) for name, value in headers.items()}

    def _is_in(self, text: str) -> bool:
        """Return True if a text holds a key; each round undoes one layer of escapes."""
        data = text.encode("utf-8", "surrogatepass").lower()
        for _ in range(4):
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
    code = int(reference[1] or reference[2], 10 if reference[1] else 16)
    return b"%c" % code if code < 256 else b""


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


SECONDS = 30
"""How long a command may take; a password manager may ask for a passphrase in a window."""

MARK = "@"
UNKNOWN = "is not in the api keys of your settings"


class KeyReferenceError(KeyError):
    """A reference gives no key; ``problem`` says why, without any output of a command."""

    def __init__(self, name: str, problem: str) -> None:
        self.problem = f"{name} {problem}"
        super().__init__(name)


class KeyEnvironment(Mapping[str, str]):
    """The variables of the environment, and the keys of references when they are first read."""

    def __init__(
        self,
        variables: Mapping[str, str],
        commands: Mapping[str, Sequence[str]] | None = None,
        entries: Mapping[str, str] | None = None,
        *,
        keyring: Callable[[str, str], str | None] | None = None,
        seconds: float = SECONDS,
    ) -> None:
        self._variables = variables
        self._keyring = keyring
        self._seconds = seconds
        self._found: dict[str, str] = {}
        self._reading = Lock()
        self.refer(commands or {}, entries or {})

    def refer(self, commands: Mapping[str, Sequence[str]], entries: Mapping[str, str]) -> None:
        self._commands = commands
        self._entries = entries

    def __repr__(self) -> str:
        return "KeyEnvironment()"

    def __getitem__(self, name: str) -> str:
        """Return a variable or the key of a reference; raise KeyReferenceError if it has no key."""
        if not name.startswith(MARK):
            return self._variables[name]
        with self._reading:
            if name not in self._found:
                self._found[name] = self._read(name)
            return self._found[name]

    def __contains__(self, name: object) -> bool:
        if isinstance(name, str) and name.startswith(MARK):
            bare = name.removeprefix(MARK)
            return bare in self._commands or bare in self._entries
        return name in self._variables

    def __iter__(self) -> Iterator[str]:
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables)

    def _read(self, name: str) -> str:
        bare = name.removeprefix(MARK)
        if bare in self._commands:
            try:
                done = subprocess.run(  # noqa: S603 - the user's own settings name it
                    self._commands[bare], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                    check=False, stderr=subprocess.DEVNULL, timeout=self._seconds,
                    start_new_session=True,
                )  # fmt: skip
            except subprocess.TimeoutExpired:
                why = f"gave no key: its command took over {self._seconds:g} s"
                raise KeyReferenceError(name, why) from None
            except (OSError, ValueError):
                raise KeyReferenceError(name, "gave no key: its command cannot be run") from None
            lines = done.stdout.decode("utf-8", "replace").strip().splitlines()
            if done.returncode or not lines:
                why = f"ended with {done.returncode}" if done.returncode else "printed nothing"
                raise KeyReferenceError(name, f"gave no key: its command {why}")
            return lines[0]
        if bare not in self._entries:
            raise KeyReferenceError(name, UNKNOWN)
        service, _, entry = self._entries[bare].rpartition("/")
        try:
            get = self._keyring or import_module("keyring").get_password
            found: str | None = get(service, entry)
        except ModuleNotFoundError:
            why = "needs the keyring: pip install 'reviewdesk[keyring]'"
            raise KeyReferenceError(name, why) from None
        except Exception:  # noqa: BLE001 - its backends raise what they like, with any text
            raise KeyReferenceError(name, "cannot be read from the keyring") from None
        if not found:
            raise KeyReferenceError(name, "is not in the keyring")
        return found


PROCESS = KeyEnvironment(os.environ)
"""The environment of this process; ``refer`` adds the references of the user's settings."""


_USABLE = re.compile(r"[!-~]+")


@dataclass(frozen=True, slots=True)
class Key:
    """A key that can be sent, or the problem with it; neither if no key is set or needed."""

    value: str | None = field(default=None, repr=False)
    problem: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Further headers of the juror, whose values are secrets as well."""

    @property
    def secrets(self) -> tuple[str | None, ...]:
        return self.value, *self.headers.values()


def key_of(place: Endpoint, environment: Mapping[str, str]) -> Key:
    found: dict[str, str] = {}
    for name in key_names(place):
        try:
            value = environment[name].strip()
        except KeyReferenceError as error:
            return Key(problem=error.problem)
        except KeyError:
            value = ""
        if not value:
            return Key(problem=f"{name} is not set")
        if _USABLE.fullmatch(value) is None:
            return Key(problem=f"{name} has characters that keys cannot have")
        found[name] = value
    headers = {header: found[name] for header, name in place.headers}
    return Key(found[place.key_env] if place.key_env else None, headers=headers)


def key_problem(place: Endpoint, environment: Mapping[str, str]) -> str | None:
    """Return the problem known before references are read, if any; it begins with the variable."""
    named = key_names(place)
    unknown = [name for name in named if name.startswith(MARK) and name not in environment]
    if unknown:
        return f"{unknown[0]} {UNKNOWN}"
    if any(name.startswith(MARK) for name in named):
        return None
    return key_of(place, environment).problem


def key_names(place: Endpoint) -> tuple[str, ...]:
    own = () if place.key_env is None else (place.key_env,)
    return (*own, *(name for _, name in place.headers))


async def read_key(place: Endpoint, environment: Mapping[str, str]) -> Key:
    """Return the key of an endpoint; a reference is read in a thread, because it may take long."""
    if any(name.startswith(MARK) for name in key_names(place)):
        return await asyncio.to_thread(key_of, place, environment)
    return key_of(place, environment)


def is_malformed(value: str) -> bool:
    return bool(value.strip()) and _USABLE.fullmatch(value.strip()) is None


def known_keys(environment: Mapping[str, str]) -> frozenset[str]:
    names = {vendor.key_env for vendor in VENDORS.values() if vendor.key_env}
    return frozenset(filter(None, (environment.get(name, "").strip() for name in names)))


def redactor(jurors: Iterable[Juror], environment: Mapping[str, str]) -> Redactor:
    named = {name for one in jurors for name in (one.api_key_env, *one.headers.values()) if name}
    return Redactor(known_keys(environment) | {environment.get(name, "") for name in named})
