"""The results of the library: records and lists of them, which a notebook shows.

Each has the shape of a command's ``--json``, and the document that the command prints.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar, overload

from msgspec import to_builtins

from reviewdesk.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from reviewdesk.views.document import Document

_PAGE = 500
"""How many records of a list are read at once."""


class LibraryResult:
    """The methods of every result, which is also a mapping or a list."""

    def to_dict(self) -> Any:
        """Return the result as JSON has it, with the shape of the command's ``--json``."""
        raise NotImplementedError

    def to_pandas(self) -> Any:
        """Return a data frame; records within a row become columns such as ``flags.split``.

        Raises:
            UsageError: pandas is not installed.
        """
        try:
            pandas = import_module("pandas")  # which nobody else needs
        except ImportError:
            hint = "Install it: pip install pandas."
            raise UsageError("to_pandas needs pandas, which is not installed", hint) from None
        return pandas.json_normalize(self._rows())

    def _rows(self) -> Any:
        return self.to_dict()

    def _document(self) -> "Document":
        raise NotImplementedError

    def _repr_html_(self) -> str:
        from reviewdesk.pages.html import fragment

        return fragment(self._document())


class DeskRecord(LibraryResult, Mapping[str, Any]):
    """One result with the keys of a command's ``--json``, which cannot be changed."""

    def __init__(
        self,
        what: str,
        found: Mapping[str, Any],
        *documents: "Callable[[], Document]",
        rows: str = "",
    ) -> None:
        self._what = what
        self._found: dict[str, Any] = to_builtins(found)
        self._documents = documents
        self._key = rows

    def to_dict(self) -> dict[str, Any]:
        """Return a copy of the keys and values, as the command's ``--json`` has them."""
        copy: dict[str, Any] = to_builtins(self._found)
        return copy

    def _rows(self) -> Any:
        return self._found[self._key] if self._key else self._found

    def _document(self) -> "Document":
        from reviewdesk.views.document import Document
        from reviewdesk.views.queue import records

        if not self._documents:
            return records([self._found], 1, self._what)
        return Document(tuple(part for made in self._documents for part in made().every))

    def __getitem__(self, key: str) -> Any:
        """Return the value of a key."""
        return self._found[key]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the keys."""
        return iter(self._found)

    def __len__(self) -> int:
        """Return the number of keys."""
        return len(self._found)

    def __repr__(self) -> str:
        """Return what it is, and its first values."""
        shown = [(key, one) for key, one in self._found.items() if not isinstance(one, dict | list)]
        return f"<{self._what}: {', '.join(f'{key}={one!r}' for key, one in shown[:6])}>"


T = TypeVar("T", bound=LibraryResult)


class DeskRecords(LibraryResult, Sequence[T]):
    """A list of results that is read a page at a time. An entry is found by place or by name."""

    def __init__(
        self,
        what: str,
        places: range,
        read: Callable[[range], list[T]],
        name: Callable[[T], str],
        find: Callable[[str], T] | None = None,
        document: "Callable[[], Document] | None" = None,
        whole: Callable[[], list[dict[str, Any]]] | None = None,
    ) -> None:
        self._what = what
        self._whole = whole
        self._places = places
        self._read = read
        self._name = name
        self._find = find
        self._made = document

    @classmethod
    def of(
        cls, what: str, rows: Sequence[T], name: Callable[[T], str], **more: Any
    ) -> "DeskRecords[T]":
        """Return the records of a list that is read already."""
        return cls(what, range(len(rows)), lambda at: [rows[one] for one in at], name, **more)

    @overload
    def __getitem__(self, at: int | str) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> "DeskRecords[T]": ...
    def __getitem__(self, at: int | str | slice) -> "T | DeskRecords[T]":
        """Return the entry at a place or the first with a name, or the entries of a slice."""
        if isinstance(at, slice):
            return DeskRecords(self._what, self._places[at], self._read, self._name)
        if not isinstance(at, str):
            if not -len(self) <= at < len(self):
                raise IndexError(f"there is no entry {at}: {self!r}")
            place = self._places[at]
            return self._read(range(place, place + 1))[0]
        if self._find is not None:
            return self._find(at)
        for one in self:
            if self._name(one) == at:
                return one
        raise NotFoundError(f"no {at!r} among the {self._what}", "Their names are in .names.")

    def __len__(self) -> int:
        """Return the number of entries."""
        return len(self._places)

    def __iter__(self) -> Iterator[T]:
        """Iterate over the entries, and read them a page at a time."""
        for start in range(0, len(self), _PAGE):
            yield from self._read(self._places[start : start + _PAGE])

    @property
    def names(self) -> list[str]:
        """The names of the entries, of which several may have the same."""
        return [self._name(one) for one in self]

    def to_dict(self) -> list[dict[str, Any]]:
        """Return all entries, as the command's ``--json`` has them. This reads the whole list."""
        return self._whole() if self._whole else [one.to_dict() for one in self]

    def _document(self) -> "Document":
        from reviewdesk.views.queue import FIRST, records

        if self._made:
            return self._made()
        return records([one.to_dict() for one in self[:FIRST]], len(self), self._what)

    def __repr__(self) -> str:
        """Return what the entries are, and their number."""
        return f"<{self._what}: {len(self):,}>"


class CalibrationRecord(DeskRecord):
    """The calibration of a run's judge: the figures, and their diagram."""

    def __init__(
        self,
        found: Mapping[str, Any],
        draw: Callable[[], str],
        *documents: "Callable[[], Document]",
    ) -> None:
        super().__init__("calibration", found, *documents)
        self._draw = draw

    def plot(self) -> "Plot":
        """Return the reliability diagram; raise UsageError if there is no label to draw."""
        return Plot(self._draw())


class Plot(str):
    """A figure as the text of an SVG file, which a notebook shows."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)

    def __repr__(self) -> str:
        """Return how long the text is; ``str`` is the text."""
        return f"<plot: {len(self):,} characters of SVG>"
