"""A place at any address that fsspec knows: an object store, or files on a server."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from reviewdesk.errors import DeskError, UsageError
from reviewdesk.remote.parts import refuse_keys
from reviewdesk.remote.place import (
    BLOCK,
    PlaceProblem,
    SharedFile,
    copy_bounded,
    refuse_crowd,
    unreadable,
)

_STORES = frozenset({"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss"})
"""Object stores, where a file has its name only once it is whole, and which have no folders."""
_OURS = "Add it with: pip install 'reviewdesk[sync]'"


class AddressPlace:
    """A place at an address. What a client needs to sign in, it reads where it always does."""

    def __init__(self, address: str) -> None:
        """Find the client for an address; nothing is asked of the place yet.

        Raises:
            UsageError: the address holds a password, or no client for it is installed.
        """
        refuse_keys(address, "where its client reads it")
        self.address = address.rstrip("/")
        self._scheme = address.partition("://")[0]
        self._system, root = _client(address)
        self._root = root.rstrip("/")
        if not self._root.strip("/"):
            raise UsageError(f"{address}: names no place", "Write one such as s3://BUCKET/labels.")

    def fetch(self) -> None:
        """Do nothing, because each look asks the place anew."""

    def publish(self) -> bool:
        """Return True, because others see what is put."""
        return True

    def entries(self, folder: str) -> Iterator[SharedFile]:
        """Yield the files of a folder and of the folders in it."""
        with self._explained(f"{self.address}/{folder}"):
            self._system.invalidate_cache()
            path = f"{self._root}/{folder}"
            found = self._system.find(path, maxdepth=2, detail=True)
        for count, (name, facts) in enumerate(found.items()):
            refuse_crowd(self.address, count)
            kind, size = facts.get("type"), facts.get("size")
            problem = "" if kind == "file" else "is no regular file, so it was not read"
            yield SharedFile(f"{folder}{name.removeprefix(path)}", size or 0, problem)

    def copy(self, name: str, into: BinaryIO, most: int) -> None:
        """Copy the bytes of a file."""
        try:
            # A read ahead would be held beside the block itself.
            with self._system.open(f"{self._root}/{name}", "rb", cache_type="none") as given:
                copy_bounded(given, into, most)
        except PlaceProblem:
            raise
        except Exception as error:
            raise unreadable(_reason(error)) from error

    def put(self, name: str, given: BinaryIO) -> None:
        """Write a file whole: at once in a store, else under a name of its own first."""
        path, folder = f"{self._root}/{name}", f"{self._root}/{name}".rpartition("/")[0]
        # A file of this machine is sent whole or not at all, also where ctrl+c is pressed.
        with TemporaryDirectory(prefix="reviewdesk-") as kept, self._explained(self.address):
            whole = Path(kept, "file")
            with whole.open("wb") as out:
                copyfileobj(given, out, BLOCK)
            if self._scheme in _STORES:
                self._system.put_file(str(whole), path)
                return
            self._system.makedirs(folder, exist_ok=True)
            part = f"{folder}/.reviewdesk-{secrets.token_hex(8)}.part"
            try:
                self._system.put_file(str(whole), part)
                self._system.mv(part, path)
            finally:
                if self._system.exists(part):
                    self._system.rm_file(part)

    @contextmanager
    def _explained(self, what: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            hint = "Check the address, what signs you in, and the connection."
            raise DeskError(f"{what}: {_reason(error)}", hint) from error


def _client(address: str) -> tuple[Any, str]:
    """Return the client for an address, and the path that the place has there."""
    try:
        from fsspec.core import url_to_fs  # type: ignore[import-untyped]
    except ImportError as error:
        problem = f"{address}: an address needs a package that is not installed"
        raise UsageError(problem, _OURS) from error
    try:
        # Another process may have changed what a client remembers.
        found: tuple[Any, str] = url_to_fs(
            address, skip_instance_cache=True, use_listings_cache=False
        )
    except ImportError as error:
        raise UsageError(
            f"{address}: no client for such addresses is installed: {_reason(error)}",
            "Install it beside reviewdesk: s3fs for s3://, gcsfs for gs://, adlfs for az://.",
        ) from error
    except Exception as error:
        hint = "Write an address such as s3://BUCKET/labels."
        raise UsageError(f"{address}: {_reason(error)}", hint) from error
    return found


def _reason(error: Exception) -> str:
    """Return what a client says, on one line."""
    return " ".join(str(error).split())[:300] or type(error).__name__
