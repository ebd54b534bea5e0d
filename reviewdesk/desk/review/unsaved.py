"""A private file of edits that another process's lock kept off the disk until the app ended.

It stays beside the desk until its edits are saved at a later opening. Each edit carries a random
key, which its event keeps, so that none is saved twice. A file that was changed is refused.
"""

import json
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeGuard

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.desk.access import others_may_write
from reviewdesk.desk.core import Desk
from reviewdesk.desk.review import edits
from reviewdesk.desk.review.edits import ONCE, Edit, NoteDraft, saved, with_key, write_at
from reviewdesk.domain.records import Truth
from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.verdict import canonical_json
from reviewdesk.errors import DeskError
from reviewdesk.file_output import whole_file
from reviewdesk.store import events, runs, verdicts
from reviewdesk.store.events import NewEvent, desk_id

_SCHEMA = "reviewdesk.unsaved/2"
_MOST_FILES = 9
_LARGEST = 16 << 20
_HINT = "Delete the file if you do not need it."

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
        word = edit.label.value if edit.label else edit.kind
        more = f" and {len(edit.others)} more" * bool(edit.others)
        return f"{word} {show_line(self.verdict, 80)}{more}"


class UnsavedFile(Struct, frozen=True):
    """A file of edits, with those that are not in the log, oldest first.

    ``last`` is the hash of what the reviewer had done before all ``keys`` of the file's edits.
    """

    path: Path
    edits: tuple[UnsavedEdit, ...]
    last: str
    keys: frozenset[str]


def paths(desk: Desk) -> list[Path]:
    """Return the files that a reviewer's edits may wait in."""
    who = sha256(desk.reviewer.encode(errors="surrogatepass")).hexdigest()[:12]
    beside = (f"{desk.path.name}.unsaved-{who}-{place}" for place in range(1, _MOST_FILES + 1))
    return [desk.path.with_name(name) for name in beside]


def can_keep(act: object) -> TypeGuard[Kept]:
    """Return True if a write can be kept; an empty draft has nothing to keep."""
    return isinstance(act, Edit | edits.Turn) or (isinstance(act, NoteDraft) and bool(act.text))


def keep(desk: Desk, edits: Sequence[tuple[datetime, Kept]]) -> Path:
    """Write edits that have their keys into a private file, and return its path once it is on disk.

    Raises:
        DeskError: the file cannot be written.
    """
    content = {
        "schema": _SCHEMA,
        "desk": desk_id(desk.conn),
        "reviewer": desk.reviewer,
        "last": events.last_action(desk.conn, desk.reviewer),
        "edits": [_shape(desk, at, edit) for at, edit in edits],
    }
    data = json.dumps({**content, "sha256": _hash(content)}, indent=1).encode()
    for path in paths(desk):
        try:
            with whole_file(path, private=True, of_desk=True) as file:
                file.write(data)
        except FileExistsError:
            continue
        except OSError as error:
            raise DeskError(f"{path}: {(error.strerror or str(error)).lower()}") from error
        return path
    raise DeskError(f"{paths(desk)[0]}: and {_MOST_FILES - 1} more hold edits that wait already")


def _shape(desk: Desk, at: datetime, edit: Kept) -> dict[str, Any]:
    when = at.isoformat(timespec="milliseconds")
    if isinstance(edit, edits.Turn):
        return {"at": when, "kind": edit.kind, "facts": dict(edit.facts)}
    if isinstance(edit, NoteDraft):
        facts = with_key({"text": edit.text, "since": edit.since})
        edit = Edit("draft", edit.key, facts)
    row = verdicts.by_key(desk.conn, edit.key)
    return {
        "at": when,
        "kind": edit.kind,
        "run": row["run_hash"],
        "verdict": row["id"],
        "item": row["item"].hex(),
        "label": edit.label,
        "facts": dict(edit.facts),
        **({"others": [_shape(desk, at, one) for one in edit.others]} if edit.others else {}),
    }


def waiting(desk: Desk) -> Iterator[UnsavedFile]:
    """Yield the reviewer's files that hold edits; one whose edits are all saved is deleted.

    Raises:
        DeskError: a file was changed, is open to others, or of another desk or reviewer.
    """
    for path in paths(desk):
        if os.path.lexists(path):
            found = read(desk, path)
            if found.edits:
                yield found
            else:
                delete(path)


def notices(desk: Desk) -> Iterator[str]:
    """Yield messages about the reviewer's files where the files cannot be offered."""
    try:
        for file in waiting(desk):
            count = f"{len(file.edits):,} change{'s' * (len(file.edits) != 1)}"
            where = f"kept in {file.path}; the screen offers to save them"
            yield f"{count} of {desk.reviewer} not saved when the app ended: {where}"
    except DeskError as error:
        yield str(error)


def read(desk: Desk, path: Path) -> UnsavedFile:
    """Return the edits of a file that are not in the log; raise DeskError if it was changed."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        with os.fdopen(os.open(path, flags), "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode) or others_may_write(found):
                raise DeskError(f"{path}: others can write it, or it is no regular file", _HINT)
            content = json.loads(file.read(_LARGEST))
        intact = content.pop("sha256") == _hash(content)
    except OSError as error:
        raise DeskError(f"{path}: {(error.strerror or str(error)).lower()}", _HINT) from error
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        intact = False
    if not intact:
        raise DeskError(f"{path}: is not a file of unsaved edits as it was written", _HINT)
    about = content["schema"], content["desk"], content["reviewer"]
    if about != (_SCHEMA, desk_id(desk.conn), desk.reviewer):
        raise DeskError(f"{path}: is not of this desk and reviewer", _HINT)
    edits = [_edit(desk, path, one) for one in content["edits"]]
    left = tuple(one for one in edits if not _is_saved(desk, one, content["last"]))
    keys = frozenset(one["facts"][ONCE] for one in content["edits"])
    return UnsavedFile(path, left, content["last"], keys)


def _hash(content: Any) -> str:
    return sha256(canonical_json(content)).hexdigest()


def _edit(desk: Desk, path: Path, given: Mapping[str, Any]) -> UnsavedEdit:
    """Return an edit; raise DeskError if the desk does not hold its item, as an older copy."""
    kind = given["kind"]
    facts = given["facts"]
    at = datetime.fromisoformat(given["at"])
    if kind in {"undo", "redo"}:
        return UnsavedEdit(at, "", edits.Turn(kind, facts))
    run = runs.by_hash(desk.conn, given["run"])
    items = {} if run is None else verdicts.keys_of_item(
        desk.conn, run.key, bytes.fromhex(given["item"])
    )  # fmt: skip
    key = items.get(given["verdict"])
    if key is None:
        raise DeskError(f"{path}: holds an edit of an item that this desk has not", _HINT)
    if kind == "draft":
        return UnsavedEdit(at, given["verdict"], NoteDraft(key, facts["text"], facts["since"]))
    label = Truth(given["label"]) if given["label"] else None
    others = (_edit(desk, path, one).edit for one in given.get("others", ()))
    together = tuple(
        replace(one, facts={**one.facts, ONCE: facts[ONCE]})
        for one in others
        if isinstance(one, Edit)
    )
    return UnsavedEdit(at, given["verdict"], Edit(kind, key, facts, label, others=together))


def _is_saved(desk: Desk, one: UnsavedEdit, last: str) -> bool:
    edit = one.edit
    if isinstance(edit, NoteDraft):
        return edit.is_stored(desk)
    if isinstance(edit, edits.Turn):
        since = events.actions_after(desk.conn, desk.reviewer, last)
        return edit.facts[ONCE] in (since or ())
    row = verdicts.by_key(desk.conn, edit.key)
    entry = NewEvent(edit.kind, desk.at(), item=row["item"], detail=edit.facts)
    return saved(desk, entry) is not None


def save(desk: Desk, files: Sequence[UnsavedFile]) -> int:
    """Save the edits of files, each with its own time, and delete the files.

    Return how many undos and redos were left out, as the reviewer has done something since.
    """
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
