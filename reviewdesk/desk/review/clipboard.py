"""Keep a copy of copied text in a file, because some terminals block clipboard access."""

from __future__ import annotations

from pathlib import Path

from reviewdesk.errors import DeskError
from reviewdesk.file_output import may_write, whole_file


def keep_copy(text: str, name: str) -> Path | None:
    """Write the text to a file that only its owner can read, and return the path.

    The file replaces the previous copy. In the console of a browser nothing is written, and
    ``None`` is returned: the file would lie on the machine of somebody else.

    Raises:
        DeskError: the file cannot be written.
    """
    from platformdirs import user_cache_path

    if not may_write():
        return None
    folder = user_cache_path("reviewdesk", appauthor=False)
    path = folder / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with whole_file(path, replace=True, private=True) as file:
            file.write(text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise DeskError(f"{path}: {reason}", "The text may still be on the clipboard.") from error
    return path
