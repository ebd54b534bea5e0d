"""API keys: read from the environment or by reference, and checked before anything is sent.

A reference such as ``@openai`` stands for a command or a keyring entry of the user's settings.
"""

from __future__ import annotations

import asyncio
import dataclasses
import os
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from threading import Lock
from typing import Final

from reviewdesk.domain.panel.juror import Juror
from reviewdesk.domain.panel.vendors import VENDORS
from reviewdesk.live.replies.redact import Redactor
from reviewdesk.live.wires.vendors import Endpoint

SECONDS: Final = 30
"""How long a command may take; a password manager may ask for a passphrase in a window."""

MARK: Final = "@"
UNKNOWN: Final = "is not among your settings' api keys"


class KeyReferenceError(KeyError):
    """A reference gives no key; ``problem`` says why, and holds nothing that a command printed."""

    def __init__(self, name: str, problem: str) -> None:
        """Store the sentence about the reference."""
        self.problem = f"{name} {problem}"
        super().__init__(name)


def _from_keyring(service: str, name: str) -> str | None:
    found: str | None = import_module("keyring").get_password(service, name)
    return found


class KeyEnvironment(Mapping[str, str]):
    """The variables of the environment, and the keys of references when they are first read."""

    def __init__(
        self,
        variables: Mapping[str, str],
        commands: Mapping[str, Sequence[str]] | None = None,
        entries: Mapping[str, str] | None = None,
        *,
        keyring: Callable[[str, str], str | None] = _from_keyring,
        seconds: float = SECONDS,
    ) -> None:
        """Store where keys are; nothing is run or read yet."""
        self._variables = variables
        self._keyring = keyring
        self._seconds = seconds
        self._found: dict[str, str] = {}
        self._reading = Lock()
        self.refer(commands or {}, entries or {})

    def refer(self, commands: Mapping[str, Sequence[str]], entries: Mapping[str, str]) -> None:
        """Set the commands and keyring entries that references name."""
        self._commands = commands
        self._entries = entries

    def __repr__(self) -> str:
        """Return a text without any key."""
        return "KeyEnvironment()"

    def __getitem__(self, name: str) -> str:
        """Return a variable or the key of a reference; raise KeyReferenceError for none."""
        if not name.startswith(MARK):
            return self._variables[name]
        with self._reading:
            if name not in self._found:
                self._found[name] = self._read(name)
            return self._found[name]

    def __contains__(self, name: object) -> bool:
        """Return True for a variable that is set and a reference that is known; none is read."""
        if isinstance(name, str) and name.startswith(MARK):
            bare = name.removeprefix(MARK)
            return bare in self._commands or bare in self._entries
        return name in self._variables

    def __iter__(self) -> Iterator[str]:
        """Yield the variables; references are no part of the environment."""
        return iter(self._variables)

    def __len__(self) -> int:
        """Return the number of variables."""
        return len(self._variables)

    def _read(self, name: str) -> str:
        bare = name.removeprefix(MARK)
        if bare in self._commands:
            return self._printed(name, self._commands[bare])
        if bare not in self._entries:
            raise KeyReferenceError(name, UNKNOWN)
        service, _, entry = self._entries[bare].rpartition("/")
        try:
            found = self._keyring(service, entry)
        except ModuleNotFoundError:
            raise KeyReferenceError(
                name, "needs the keyring: pip install 'reviewdesk[keyring]'"
            ) from None
        except Exception:  # noqa: BLE001 - its backends raise what they like, with any text
            raise KeyReferenceError(name, "cannot be read from the keyring") from None
        if not found:
            raise KeyReferenceError(name, "is not in the keyring")
        return found

    def _printed(self, name: str, command: Sequence[str]) -> str:
        try:
            done = subprocess.run(  # noqa: S603 - the user's own settings name it
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False,
                stderr=subprocess.DEVNULL, timeout=self._seconds, start_new_session=True,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise KeyReferenceError(
                name, f"gave no key: its command took over {self._seconds:g} s"
            ) from None
        except (OSError, ValueError):
            raise KeyReferenceError(name, "gave no key: its command cannot be run") from None
        if done.returncode:
            raise KeyReferenceError(name, f"gave no key: its command ended with {done.returncode}")
        lines = done.stdout.decode("utf-8", "replace").strip().splitlines()
        if not lines:
            raise KeyReferenceError(name, "gave no key: its command printed nothing")
        return lines[0]


PROCESS: Final = KeyEnvironment(os.environ)
"""The environment of this process; ``refer`` adds what the user's settings name."""


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
        """The key, if any, and the values of all further headers."""
        return self.value, *self.headers.values()


def key_of(place: Endpoint, environment: Mapping[str, str]) -> Key:
    """Return the key and headers of an endpoint, or the first problem with them."""
    headers = {}
    for header, name in place.headers:
        found = _value(name, environment, required=True)
        if found.problem is not None:
            return found
        headers[header] = found.value or ""
    if place.key_env is None:
        return Key(headers=headers)
    found = _value(place.key_env, environment, required=place.key_required)
    return dataclasses.replace(found, headers=headers)


def _value(name: str, environment: Mapping[str, str], *, required: bool) -> Key:
    try:
        value = environment[name].strip()
    except KeyReferenceError as error:
        return Key(problem=error.problem)
    except KeyError:
        value = ""
    if not value:
        return Key(problem=f"{name} is not set") if required else Key()
    if _USABLE.fullmatch(value) is None:
        return Key(problem=f"{name} holds characters that no key has")
    return Key(value)


def key_problem(place: Endpoint, environment: Mapping[str, str]) -> str | None:
    """Return what is wrong with a key or header as far as it is known before references are read.

    The result begins with the name of the variable.
    """
    named = key_names(place)
    unknown = [name for name in named if name.startswith(MARK) and name not in environment]
    if unknown:
        return f"{unknown[0]} {UNKNOWN}"
    if any(name.startswith(MARK) for name in named):
        return None
    return key_of(place, environment).problem


def key_names(place: Endpoint) -> tuple[str, ...]:
    """Return the variables and references whose values are sent to an endpoint."""
    own = () if place.key_env is None else (place.key_env,)
    return (*own, *(name for _, name in place.headers))


async def read_key(place: Endpoint, environment: Mapping[str, str]) -> Key:
    """Return the key of an endpoint; a reference is read in a thread, because it may take long."""
    if any(name.startswith(MARK) for name in key_names(place)):
        return await asyncio.to_thread(key_of, place, environment)
    return key_of(place, environment)


def is_malformed(value: str) -> bool:
    """Return True if a variable has a value that cannot be a key."""
    return bool(value.strip()) and _USABLE.fullmatch(value.strip()) is None


def known_keys(environment: Mapping[str, str]) -> frozenset[str]:
    """Return the keys of all known vendors in the environment, used by the panel or not."""
    names = {vendor.key_env for vendor in VENDORS.values() if vendor.key_env}
    return frozenset(filter(None, (environment.get(name, "").strip() for name in names)))


def redactor(jurors: Iterable[Juror], environment: Mapping[str, str]) -> Redactor:
    """Return a redactor for the keys of a panel's jurors and of every known vendor."""
    named = {name for one in jurors for name in (one.api_key_env, *one.headers.values()) if name}
    return Redactor(known_keys(environment) | {environment.get(name, "") for name in named})
