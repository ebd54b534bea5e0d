"""Reading options: facts about a file that a person states because the file does not."""

import hashlib
import shlex
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from reviewdesk.domain import values
from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import UsageError
from reviewdesk.reports.bytes.source import Source

TABLE_OPTIONS = frozenset({
    "judge_columns", "criteria_columns", "item_column", "output_column", "reason_suffix", "map",
})  # fmt: skip
"""The options that only tables have."""


class ReadOptions(Struct, frozen=True):
    """The options for reading a report; most apply to some formats only (``Dialect.uses``)."""

    format: str | None = None
    """The name of the dialect to read the file as, or None to recognise it."""
    skip_bad: bool = False
    """Whether to leave out bad verdicts instead of raising an error."""
    models: Mapping[str, str] = field(default_factory=dict)
    """The model of each juror, by juror name, for files that do not state it."""
    pass_labels: tuple[str, ...] = ()
    """Words that mean a pass, in addition to the usual ones; case does not matter."""
    fail_labels: tuple[str, ...] = ()
    scale: tuple[float, float] | None = None
    """The lowest and the highest raw score, for scores that are not from 0 to 1."""
    judge_columns: tuple[str, ...] = ()
    """The columns of a wide table, each with one juror's scores."""
    criteria_columns: tuple[str, ...] = ()
    """The columns of a wide table, each with the scores for one question."""
    item_column: str | None = None
    output_column: str | None = None
    reason_suffix: str | None = None
    """The suffix of the columns of reasons, after the names of their judges."""
    map: str | None = None
    """The name of a map, or the path of its file."""
    texts: str | None = None
    """The path of a table with the texts that the report lacks, by id."""

    def __post_init__(self) -> None:
        """Raise UsageError if the scale is not ascending or a word means both pass and fail."""
        if self.scale is not None:
            low, high = (values.finite("--scale", end) for end in self.scale)
            if low >= high:
                raise UsageError("--scale: the lowest score must come first", "Write 1..5.")
        words = {word.strip().casefold() for word in self.pass_labels}
        if both := words & {word.strip().casefold() for word in self.fail_labels}:
            raise UsageError(f"{min(both)!r} cannot mean a pass and a fail", "Give one of them.")

    def in_command(self) -> str:
        """Return what a person says of a table's columns, as options of a command."""
        said = {
            "item-column": self.item_column,
            "output-column": self.output_column,
            "judge-columns": ",".join(self.judge_columns),
            "criteria-columns": ",".join(self.criteria_columns),
        }
        given = (f" --{option} {shlex.quote(text)}" for option, text in said.items() if text)
        return show_line("".join(given), 300)

    def given(self) -> dict[str, Any]:
        """Return the given options except ``format`` as JSON; they are part of a run's identity.

        A map and a file of texts are given as the SHA-256 of their content.
        """
        options: dict[str, Any] = {}
        for name in ReadOptions.__struct_fields__:
            value = getattr(self, name)
            if name != "format" and value not in (None, False, (), {}):
                options[name] = list(value) if isinstance(value, tuple) else value
        if self.models:
            options["models"] = dict(sorted(self.models.items()))
        if self.map is not None:
            # Imported here because only a table needs maps.
            from reviewdesk.reports.maps import map_text

            options["map"] = hashlib.sha256(map_text(self.map).encode()).hexdigest()
        if self.texts is not None:
            with Source.from_path(self.texts).open() as stream:
                options["texts"] = hashlib.sha256(stream.read()).hexdigest()
        return options
