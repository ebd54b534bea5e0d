"""Check the content of a file against a pydantic model, and word its problems once for all files.

A model declares the keys, their types and their limits. ``Wanted`` words what a value must be.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Annotated, Any, ClassVar, TypeAlias, TypeVar, get_args

from msgspec import Struct
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    ValidationError,
)
from pydantic_core import CoreSchema, ErrorDetails, core_schema

from reviewdesk.reports.wording import FieldError, Path, found, keylike, names_a_secret

MEND = "Fix it, or leave it out."
KEY_FOR_A_NAME = "has an API key for a name (not shown)"
_TYPO_SIMILARITY = 0.9
"""How similar a key such as ``max_token`` must be to a known one to be a typo, not a secret."""

_BY_TYPE = {
    "string_type": "a text",
    "string_unicode": "a text",
    "string_too_short": "a text that is not empty",
    "string_too_long": "a text of at most {max_length} characters",
    "bool_type": "true or false",
    "list_type": "a list",
    "float_type": "a number",
    "finite_number": "a finite number",
    "invalid_key": "an object whose keys are texts",
    "too_short": "a list of {min_length} or more",
    "too_long": "a list of {max_length} or fewer",
}
"""What a value must be, by the type of pydantic's error."""

_Model = TypeVar("_Model", bound="Strict")


class Strict(BaseModel):
    """A model that refuses unknown keys, conversions and numbers that are not finite."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    shape: ClassVar[str] = "an object"
    what: ClassVar[str] = ""
    """What the value describes, with an article."""
    secret_hint: ClassVar[str] = ""
    """The hint for an unknown key with a name such as ``api_key``; without it, the known keys."""


class Wanted(Struct, frozen=True):
    """What a value must be, in words, for any broken constraint; ``known`` are its words."""

    text: str
    known: tuple[str, ...] = ()

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Replace all errors of the annotated type by one of ours."""
        names = [str(one) for one in self.known]
        return core_schema.custom_error_schema(
            core_schema.literal_schema(names) if names else handler(source),
            custom_error_type="wanted",
            custom_error_message=self.text,
            custom_error_context={"known": " ".join(names)},
        )


def fulfilling(test: Callable[[Any], object]) -> AfterValidator:
    """Return a validator that refuses what fails a test; a ``Wanted`` around it says why."""

    def check(value: Any) -> Any:
        if not test(value):
            raise ValueError
        return value

    return AfterValidator(check)


FILLED = fulfilling(str.strip)
"""Refuses blank texts."""


Unit: TypeAlias = Annotated[float, Field(ge=0, le=1), Wanted("a number from 0 to 1")] | None
Fraction: TypeAlias = (
    Annotated[float, Field(ge=0, lt=0.5), Wanted("a number from 0 up to, but not including, 0.5")]
    | None
)
Positive: TypeAlias = Annotated[float, Field(gt=0), Wanted("a number above 0")]
# The squares of other numbers overflow a float, or are 0.
Amount: TypeAlias = (
    Annotated[
        float,
        fulfilling(lambda weight: not weight or 1e-15 <= weight <= 1e15),
        Wanted("0, or a number from 1e-15 to 1e+15"),
    ]
    | None
)


def validated(model: type[_Model], value: object, context: object = None) -> _Model:
    """Return the model of a value; raise FieldError with the path to the first problem."""
    try:
        return model.model_validate(value, context=context)
    except ValidationError as error:
        every = error.errors(include_url=False)
    except RecursionError:
        raise FieldError((), "is nested too deep") from None
    # Raised outside the handler, because its context would quote a value that may be an API key.
    raise _first_problem(model, value, every)


def _first_problem(model: type[Strict], value: object, every: Sequence[ErrorDetails]) -> FieldError:
    """Return the first unknown key, which may explain the rest, or else the first problem."""
    details = next((one for one in every if one["type"] == "extra_forbidden"), every[0])
    path = _in_file(value, details["loc"])
    cause = details.get("ctx", {}).get("error")
    if isinstance(cause, FieldError):
        path = (*path, *cause.path)
    for at, step in enumerate(path):
        if keylike(str(step)):
            return FieldError(path[:at], KEY_FOR_A_NAME, model.secret_hint or "Take it out.")
    if isinstance(cause, FieldError):
        return FieldError(path, cause.text, cause.hint)
    if details["type"] == "missing":
        return FieldError(path, "is missing", f'Add "{path[-1]}" to it.')
    if details["type"] == "extra_forbidden":
        model = _model_at(model, path[:-1])
        key = str(path[-1])
        known = [field.alias or name for name, field in model.model_fields.items()]
        typo = get_close_matches(key[:80].lower(), known, 1, _TYPO_SIMILARITY)
        secret = model.secret_hint and names_a_secret(key) and not typo
        hint = model.secret_hint if secret else nearest(key, known)
        return FieldError(path, f"is not a key of {model.what}", hint)
    value = details.get("ctx", {}).get("actual_length", details["input"])
    text, hint = _expected(model, path, details)
    return FieldError(path, f"must be {text}, found {found(value)}", hint)


def nearest(word: str, known: Sequence[str]) -> str:
    """Return a hint for an unknown word: the one that was probably meant, and all known ones."""
    close = get_close_matches(word[:80].lower(), known, 1)
    meant = f'Did you mean "{close[0]}"? ' if close else ""
    return f"{meant}Known: {', '.join(known)}."


def _expected(model: type[Strict], path: Path, details: ErrorDetails) -> tuple[str, str]:
    kind = details["type"]
    context = details.get("ctx", {})
    if kind == "wanted":
        known = context["known"].split()
        return details["msg"], nearest(str(details["input"]), known) if known else MEND
    if kind == "literal_error":
        return str(context["expected"]).replace("'", '"').replace("None", "null"), MEND
    if kind == "dict_type":
        return model.shape, MEND
    if kind in {"model_type", "model_attributes_type"}:
        model = _model_at(model, path)
        return f"{model.shape} that describes {model.what}" if model.what else model.shape, MEND
    return _BY_TYPE.get(kind, "a value this format allows").format_map(context), MEND


def _in_file(value: Any, loc: Path) -> Path:
    """Return the path in the file, without the index if a list's only item may stand alone."""
    path: list[str | int] = []
    for step in loc:
        listed = isinstance(value, list)
        if isinstance(step, int) and not listed:
            continue
        path.append(step)
        inside = isinstance(value, Mapping) or listed
        value = value[step] if inside and (listed or step in value) else None
    return tuple(path)


def _model_at(model: type[Strict], path: Path) -> type[Strict]:
    """Return the model of the value at a path that leads through models."""
    for step in path:
        for name, field in model.model_fields.items():
            if (field.alias or name) == step:
                model = next(_models(field.annotation), model)
    return model


def _models(annotation: Any) -> Iterator[type[Strict]]:
    if isinstance(annotation, type) and issubclass(annotation, Strict):
        yield annotation
    for inner in get_args(annotation):
        yield from _models(inner)
