"""Read cases files: JSON Lines with one case a line for a panel to judge."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, BinaryIO, TypeAlias

from reviewdesk.domain.panel.case import Case
from reviewdesk.domain.panel.prompt import CASE_SLOTS, SLOT_NAME
from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.verdict import Generator
from reviewdesk.errors import InputFileError, PanelError, ReportError
from reviewdesk.reports.bytes.source import DEFAULT_MAX_SIZE, Source
from reviewdesk.reports.bytes.strict_json import ImportTally
from reviewdesk.reports.bytes.window import read_lines
from reviewdesk.reports.panels.cells import nearest
from reviewdesk.reports.panels.check_fields import FieldError, read_checks
from reviewdesk.reports.wording import Path, found, spell_path

_KEYS = (
    "id", "output", "input", "alternative", "rubric", "reference", "generator", "tags", "context",
    "checks",
)  # fmt: skip
_GENERATOR = ("model", "vendor")

Row: TypeAlias = Mapping[str, Any]


def open_cases(path: str, stdin: BinaryIO | None = None) -> Source:
    """Open a cases file; for ``-``, all of ``stdin`` is read.

    Raises:
        PanelError: there is no such file, or it cannot be read.
    """
    try:
        if path == "-" and stdin is not None:
            return Source.from_bytes("-", stdin.read(DEFAULT_MAX_SIZE + 1))
        return Source.from_path(path)
    except ReportError as error:
        raise PanelError(error.file, "", error.problem, "Name a JSON Lines file.") from error


def read_cases(source: Source) -> Iterator[Case]:
    """Yield the cases in the order of their lines; a bad line raises its error when it is reached.

    Raises:
        PanelError: a line is not a valid case; the error names file, line and place.
    """
    seen: dict[str, int] = {}
    try:
        with source.open() as stream:
            for line, value in read_lines(stream, _failing(source), ImportTally()):
                try:
                    case = case_from(value)
                except FieldError as error:
                    where = f"line {line}: {spell_path(error.path)}"
                    raise PanelError(source.shown_name, where, error.problem, error.hint) from error
                if case.id in seen:
                    where = f"line {line}: $.id"
                    problem = f'is that of line {seen[case.id]} too: "{show_line(case.id, 60)}"'
                    raise PanelError(source.shown_name, where, problem, "Give each case its own.")
                seen[case.id] = line
                yield case
    except ReportError as error:
        # The readers of bytes raise errors about reports; this is a cases file.
        raise PanelError(error.file, error.where, error.problem, error.hint) from error


def count_cases(source: Source) -> int:
    """Check every case and return their number, before anything is spent on the first.

    Raises:
        PanelError: a line is not a valid case, or the file has no cases.
    """
    count = sum(1 for _ in read_cases(source))
    if not count:
        raise PanelError(source.shown_name, "", "holds no cases", "Write one a line.")
    return count


def case_from(row: object) -> Case:
    """Return the case that a mapping describes.

    Raises:
        FieldError: a member is missing, unknown or of the wrong kind.
    """
    if not isinstance(row, Mapping):
        raise FieldError((), f"must be an object, found {found(row)}")
    _known(row, (), "a case", _KEYS)
    for key in ("id", "output"):
        if key not in row:
            raise FieldError((), f'has no "{key}"', "Each case needs id and output.")
    name = row["id"]
    if not isinstance(name, str) or not name.strip() or len(name) > 400:
        raise _value_error(("id",), "a text of 1 to 400 characters", name)
    if not isinstance(row["output"], str):
        raise _value_error(("output",), "a text", row["output"])
    return Case(
        id=name,
        output=row["output"],
        input=_text(row, "input"),
        alternative=_text(row, "alternative"),
        rubric=_text(row, "rubric"),
        reference=_reference(row.get("reference")),
        generator=_generator(row.get("generator")),
        tags=_tags(row.get("tags")),
        context=_context(row.get("context")),
        checks=read_checks(row.get("checks"), ("checks",)),
    )


def _failing(source: Source) -> Callable[[str, str, str], InputFileError]:
    return lambda where, problem, hint: PanelError(source.shown_name, where, problem, hint)


def _known(row: Row, path: Path, what: str, known: tuple[str, ...]) -> None:
    for key in row:
        if key not in known:
            name = str(key)
            raise FieldError((*path, name), f"is no key of {what}", nearest(name, known))


def _text(row: Row, key: str, path: Path = ()) -> str | None:
    value = row.get(key)
    if value is not None and not isinstance(value, str):
        raise _value_error((*path, key), "a text or null", value)
    return value or None


def _reference(value: object) -> str | tuple[str, ...] | None:
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return tuple(value) or None
    if value is not None and not isinstance(value, str):
        raise _value_error(("reference",), "a text or a list of texts", value)
    return value


def _generator(value: object) -> Generator:
    if value is None:
        return Generator()
    if not isinstance(value, Mapping):
        raise _value_error(("generator",), 'an object such as {"model": "gpt-5"}', value)
    _known(value, ("generator",), "a generator", _GENERATOR)
    return Generator(*(_text(value, key, ("generator",)) for key in _GENERATOR))


def _tags(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(tag, str) and tag for tag in value):
        raise _value_error(("tags",), "a list of texts", value)
    return tuple(value)


def _context(value: object) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise _value_error(("context",), "an object of texts", value)
    for key, text in value.items():
        path = ("context", str(key))
        if not isinstance(key, str) or not SLOT_NAME.match(key):
            hint = "Use 1 to 80 characters and no braces, so that a template can say {name}."
            raise FieldError(path, "is no name for a slot", hint)
        if key in CASE_SLOTS:
            raise FieldError(path, "is a slot that the case itself fills", "Choose another name.")
        if not isinstance(text, str):
            raise _value_error(path, "a text", text)
    return dict(value)


def _value_error(path: Path, expected: str, value: object) -> FieldError:
    return FieldError(path, f"must be {expected}, found {found(value)}")
