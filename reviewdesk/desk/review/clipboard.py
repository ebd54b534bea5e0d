"""Keep a copy of copied text in a file, because some terminals block clipboard access."""

from __future__ import annotations

import os
from pathlib import Path

from reviewdesk.errors import DeskError


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
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise DeskError(f"{path}: {reason}", "The text may still be on the clipboard.") from error
    return path
