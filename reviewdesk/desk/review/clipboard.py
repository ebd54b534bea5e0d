"""Keep a copy of copied text in a file, because some terminals block clipboard access."""

from __future__ import annotations

from pathlib import Path

from reviewdesk.errors import DeskError
from reviewdesk.file_output import whole_file


def keep_copy(text: str, name: str) -> Path:
    """Write the text to a file that only its owner can read, and return the path.

    The file replaces the previous copy.

    Raises:
        DeskError: the file cannot be written.
    """
    from platformdirs import user_cache_path

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
