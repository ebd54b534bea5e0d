"""What a juror of a panel file may say beyond the common keys: body keys and headers."""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, Final, TypeAlias

from pydantic import AfterValidator, BeforeValidator

from reviewdesk.domain.panel.juror import reserved_key
from reviewdesk.reports.validation import KEY_FOR_A_NAME, MEND
from reviewdesk.reports.wording import FieldError, holds_key, keylike

FROM_ENVIRONMENT = "Keys come from the environment; name the variable with api_key_env."
KEY_HINT = "Write the variable's name, such as OPENAI_API_KEY, and keep the key in it."

RESERVED_HEADERS: Final = frozenset({
    "authorization", "x-api-key", "api-key", "host", "connection", "content-type", "content-length",
    "content-encoding", "transfer-encoding", "accept", "accept-encoding", "expect", "upgrade",
})  # fmt: skip
"""The headers that a request has of its own, in lower case."""

MAX_EXTRA: Final = 10_000
"""The most characters of ``extra`` as JSON."""

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}\Z", re.ASCII)
_REFERENCE = re.compile(r"@[A-Za-z0-9_-]{1,64}\Z", re.ASCII)
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}\Z", re.ASCII)


def variable(value: object) -> object:
    """Return the name of an environment variable; the error does not show the value."""
    if value is None:
        return None
    if not isinstance(value, str) or keylike(value) or not _VARIABLE.match(value):
        problem = "must be the name of a variable of the environment (the value is not shown)"
        raise FieldError((), problem, KEY_HINT)
    return value


def reference(value: object) -> object:
    """Return the name of a key in the user's settings; the error does not show the value."""
    if value is None or (isinstance(value, str) and _REFERENCE.match(value)):
        return value
    problem = "must be a reference such as @openai (the value is not shown)"
    raise FieldError((), problem, FROM_ENVIRONMENT)


def _extra(value: dict[str, Any] | None) -> dict[str, Any] | None:
    for key in value or ():
        if keylike(key):
            raise FieldError((), KEY_FOR_A_NAME, FROM_ENVIRONMENT)
    if taken := reserved_key(value or {}):
        problem = "is written by the program, so extra must not set it"
        raise FieldError((taken,), problem, "Leave it out, or use the juror's own key for it.")
    if holds_key(value):
        raise FieldError((), "has what looks like an API key in it (not shown)", FROM_ENVIRONMENT)
    try:
        size = len(json.dumps(value))
    except (TypeError, ValueError, RecursionError):
        raise FieldError((), "holds what JSON cannot say", MEND) from None
    if size > MAX_EXTRA:
        raise FieldError((), f"is longer than {MAX_EXTRA:,} characters", MEND)
    return value


def _headers(value: object) -> object:
    """Return headers with the variables that hold their values; no value is shown."""
    if value is None:
        return None
    if not isinstance(value, dict):
        problem = "must be a mapping of headers to variables (the value is not shown)"
        raise FieldError((), problem, KEY_HINT)
    for name, named in value.items():
        if not isinstance(name, str) or keylike(name) or not _HEADER.match(name):
            raise FieldError((), "has a name that no header has (not shown)", MEND)
        if name.lower() in RESERVED_HEADERS:
            hint = "Name the variable of a key with api_key_env, and leave the rest out."
            raise FieldError((name,), "is a header that the program writes", hint)
        if not (isinstance(named, str) and _REFERENCE.match(named)):
            try:
                variable(named if named is not None else 0)
            except FieldError as error:
                raise FieldError((name,), error.problem.text, error.problem.hint) from None
    return {name.lower(): named for name, named in value.items()}


BodyKeys: TypeAlias = Annotated[dict[str, Any] | None, AfterValidator(_extra)]
HeaderNames: TypeAlias = Annotated[dict[str, str] | None, BeforeValidator(_headers)]
