"""A private file of edits that another process's lock kept off the disk until the app ended.

It stays beside the desk until its edits are saved at a later opening. Each edit carries a random
key, which its event keeps, so that none is saved twice. The file is untrusted input.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, TypeGuard

from msgspec import DecodeError, Meta, Struct, ValidationError, convert, defstruct, json
from msgspec.structs import replace

from reviewdesk.desk.core import Desk
from reviewdesk.desk.review import edits
from reviewdesk.desk.review.edits import ONCE, Edit, NoteDraft, saved, with_key, write_at
from reviewdesk.domain.records import Truth
from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import DeskError, ReviewDeskError, reason
from reviewdesk.file_output import open_regular, whole_file
from reviewdesk.store import events, runs, verdicts
from reviewdesk.store.events import NewEvent, desk_id
from reviewdesk.views.words import TRUTHS

_SCHEMA = "reviewdesk.unsaved/1"
_MOST_FILES = 9
_LARGEST = 16 << 20
_HINT = "Delete the file if you do not need it."


_HEX = Annotated[str, Meta(pattern=r"^([0-9a-f]{2})+\Z")]


def _facts(needed: str = "", **kinds: Any) -> type:
    """Return a record to check facts by; all but the key and ``needed`` may be absent."""
    fields = [(name, kind, *([] if name == needed else [None])) for name, kind in kinds.items()]
    return defstruct("Facts", [(ONCE, _HEX), *fields], kw_only=True, forbid_unknown_fields=True)


_FACTS = {
    "label": _facts(
        blind=bool, revealed_at=datetime, seen=bool, told=bool, again=_HEX, together=int
    ),
    "repeat": _facts(blind=bool, unseen=bool, seen=bool),
    "note": _facts("note", note=str, added=str),
    "tags": _facts("tags", tags=list[str], added=list[str]),
    "mark": _facts("on", on=bool),
    "draft": _facts("text", text=str, since=int),
    **dict.fromkeys(("adjudicate", "defer", "reveal", "undo", "redo"), _facts()),
}
"""The kinds of edit, each with its facts."""

Kept = Edit | edits.Turn | NoteDraft
"""What can be kept: an edit, an undo or redo, the text of a note that is being typed."""


class UnsavedEdit(Struct, frozen=True):
    """An edit of a verdict, made ``at`` that time; an undo or redo names none."""

    at: datetime
    verdict: str
    edit: Kept

    @property
    def text(self) -> str:
        """What the edit does, in a few words that are safe to show."""
        edit = self.edit
        if isinstance(edit, edits.Turn):
            return edit.kind
        if isinstance(edit, NoteDraft):
            return f"unfinished note {show_line(self.verdict, 80)}"
        word = TRUTHS[edit.label] if edit.label else edit.kind
        more = f" and {len(edit.others)} more" * bool(edit.others)
        return f"{word} {show_line(self.verdict, 80)}{more}"


class _WrittenEdit(Struct, omit_defaults=True):
    """An edit as the file has it."""

    at: Annotated[datetime, Meta(tz=True)]
    kind: str
    facts: dict[str, Any]
    run: str = ""
    verdict: str = ""
    item: str = ""
    label: Truth | None = None
    others: "list[_WrittenEdit]" = []


class _WrittenFile(Struct):
    """The content of a file."""

    schema: str
    desk: str
    reviewer: str
    edits: list[_WrittenEdit]
    last: str = ""


class UnsavedFile(Struct, frozen=True):
    """The edits of a file that are not in the log; ``last`` was done before all its ``keys``."""

    path: Path
    edits: tuple[UnsavedEdit, ...]
    last: str
    keys: frozenset[str]


def paths(desk: Desk) -> list[Path]:
    who = sha256(desk.reviewer.encode(errors="surrogatepass")).hexdigest()[:12]
    beside = (f"{desk.path.name}.unsaved-{who}-{place}" for place in range(1, _MOST_FILES + 1))
    return [desk.path.with_name(name) for name in beside]


def can_keep(act: object) -> TypeGuard[Kept]:
    return isinstance(act, Edit | edits.Turn) or (isinstance(act, NoteDraft) and bool(act.text))


def keep(desk: Desk, edits: Sequence[tuple[datetime, Kept]]) -> Path:
    """Write edits that have their keys into a private file on disk, and return its path."""
    content = _WrittenFile(
        _SCHEMA,
        desk_id(desk.conn),
        desk.reviewer,
        [_written(desk, at, edit) for at, edit in edits],
        events.last_action(desk.conn, desk.reviewer),
    )
    data = json.format(json.encode(content), indent=1)
    for path in paths(desk):
        try:
            with whole_file(path, private=True, of_desk=True) as file:
                file.write(data)
        except FileExistsError:
            continue
        except OSError as error:
            raise DeskError(f"{path}: {reason(error)}") from error
        return path
    raise DeskError(f"{paths(desk)[0]}: and {_MOST_FILES - 1} more hold edits that wait already")


def _written(desk: Desk, at: datetime, edit: Kept) -> _WrittenEdit:
    if isinstance(edit, edits.Turn):
        return _WrittenEdit(at, edit.kind, dict(edit.facts))
    if isinstance(edit, NoteDraft):
        edit = Edit("draft", edit.key, with_key({"text": edit.text, "since": edit.since}))
    row = verdicts.by_key(desk.conn, edit.key)
    others = [_written(desk, at, one) for one in edit.others]
    place = row["run_hash"], row["id"], row["item"].hex()
    return _WrittenEdit(at, edit.kind, dict(edit.facts), *place, edit.label, others)


def waiting(desk: Desk) -> Iterator[UnsavedFile]:
    """Yield the reviewer's files that hold edits; one whose edits are all saved is deleted."""
    for path in paths(desk):
        if os.path.lexists(path):
            found = read(desk, path)
            if found.edits:
                yield found
            else:
                delete(path)


def notices(desk: Desk) -> Iterator[str]:
    try:
        for file in waiting(desk):
            count = f"{len(file.edits):,} change{'s' * (len(file.edits) != 1)}"
            where = f"kept in {file.path}; the screen offers to save them"
            yield f"{count} of {desk.reviewer} not saved when the app ended: {where}"
    except DeskError as error:
        yield str(error)


def read(desk: Desk, path: Path) -> UnsavedFile:
    """Return the edits of a file that are not in the log; raise DeskError if it is damaged."""
    try:
        given = _content(desk, path)
        edits = [_edit(desk, one) for one in given.edits]
    except OSError as error:
        raise DeskError(f"{path}: {reason(error)}", _HINT) from error
    except (KeyError, ArithmeticError, ValidationError) as error:
        raise DeskError(f"{path}: is not a file of unsaved edits", _HINT) from error
    except DecodeError as error:
        raise DeskError(f"{path}: is not JSON", _HINT) from error
    except (ValueError, RecursionError, ReviewDeskError) as error:
        raise DeskError(f"{path}: {show_line(str(error), 200)}", _HINT) from error
    last = given.last
    keys = frozenset(one.facts[ONCE] for one in given.edits)
    left = tuple(one for one in edits if not _is_saved(desk, one, last))
    return UnsavedFile(path, left, last, keys)


def _content(desk: Desk, path: Path) -> _WrittenFile:
    """Read a regular file that nobody else can write, following no link."""
    with open_regular(path) as file:
        found = os.fstat(file.fileno())
        if sys.platform != "win32" and (found.st_uid != os.geteuid() or found.st_mode & 0o022):
            raise ValueError("can be written by others, and so may not be yours")
        data = file.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise ValueError("is too large for a file of unsaved edits")
    given = json.decode(data, type=_WrittenFile)
    if (given.schema, given.desk) != (_SCHEMA, desk_id(desk.conn)):
        raise ValueError("is not of this desk")
    if given.reviewer != desk.reviewer:
        raise ValueError("is not of this reviewer")
    return given


def _edit(desk: Desk, given: _WrittenEdit) -> UnsavedEdit:
    kind = given.kind
    facts = given.facts
    at = given.at.astimezone(UTC)
    convert(facts, _FACTS[kind])
    if kind in {"undo", "redo"}:
        return UnsavedEdit(at, "", edits.Turn(kind, facts))
    labels = kind in {"label", "repeat", "adjudicate"}
    if labels is (given.label is None) or given.label is Truth.DISPUTED:
        raise ValueError(f"contains a {kind} without a label, or with one that it cannot have")
    run = runs.by_hash(desk.conn, given.run)
    key = 0 if run is None else verdicts.find(desk.conn, run, given.verdict)
    if not key or verdicts.by_key(desk.conn, key)["item"].hex() != given.item:
        raise ValueError("contains an edit of an item that is not in this desk")
    if kind == "draft":
        return UnsavedEdit(at, given.verdict, NoteDraft(key, facts["text"], facts.get("since", 0)))
    once = {ONCE: facts[ONCE]}
    others = [_edit(desk, replace(one, facts={**one.facts, **once})).edit for one in given.others]
    together = [one for one in others if isinstance(one, Edit) and one.kind == kind == "label"]
    if len(together) < len(others) or any(one.others for one in together):
        raise ValueError("contains a group of edits that no key makes")
    edit = Edit(kind, key, facts, given.label, others=together)
    return UnsavedEdit(at, given.verdict, edit)


def _is_saved(desk: Desk, one: UnsavedEdit, last: str) -> bool:
    edit = one.edit
    if isinstance(edit, NoteDraft):
        return edit.is_stored(desk)
    if isinstance(edit, edits.Turn):
        return edit.facts[ONCE] in (events.actions_after(desk.conn, desk.reviewer, last) or ())
    row = verdicts.by_key(desk.conn, edit.key)
    entry = NewEvent(edit.kind, desk.at(), item=row["item"], detail=edit.facts)
    return saved(desk, entry) is not None


def save(desk: Desk, files: Sequence[UnsavedFile]) -> int:
    """Save the edits of files, each with its own time; return how many undos were left out."""
    left_out = 0
    for file in files:
        for one in file.edits:
            edit = one.edit
            if isinstance(edit, NoteDraft):
                edit.add(desk)
            elif not isinstance(edit, edits.Turn):
                write_at(desk, edit, one.at)
            elif edit.fits(desk, file.last, file.keys):
                done = write_at(desk, edit, one.at)
                if done is not None and edits.is_import(desk, done):
                    edits.rest(desk, done)
            else:
                left_out += not _is_saved(desk, one, file.last)
        delete(file.path)
    return left_out


def delete(path: Path) -> None:
    """Delete a file whose edits are saved; if that fails, it is read and deleted another time."""
    with suppress(OSError):
        path.unlink(missing_ok=True)
