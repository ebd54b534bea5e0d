"""Files to read from any address: the files that a pattern matches, and local copies of them."""

from collections.abc import Iterator
from contextlib import contextmanager
from glob import glob, has_magic
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

from reviewdesk.errors import UsageError

_BLOCK = 4 << 20


def is_remote(address: str) -> bool:
    """Return True unless the address is a path on this machine."""
    return "://" in address


def refuse_keys(address: str) -> None:
    """Raise UsageError if an address holds a password, which would travel and be logged."""
    if is_remote(address) and urlsplit(address).password:
        scheme = address.partition("://")[0]
        raise UsageError(
            f"{scheme}://: the address contains a password",
            "Leave it out; give it in the environment or the client's own settings, where the "
            "parts are read.",
        )


def expand(pattern: str) -> list[str]:
    """Return the addresses that a pattern matches, in order; a plain name is returned unchanged.

    Raise ImportError if what reads such addresses is not installed. Raise OSError if the place
    cannot be listed.
    """
    if not is_remote(pattern):
        path = str(Path(pattern).expanduser())
        if not has_magic(path):
            return [path]
        return sorted(glob(path, recursive=True))  # noqa: PTH207 - patterns may be absolute
    if not has_magic(pattern):
        return [pattern]
    from fsspec.core import url_to_fs  # type: ignore[import-untyped]

    system, path = url_to_fs(pattern)
    return sorted(system.unstrip_protocol(str(name)) for name in system.glob(path))


@contextmanager
def local_copy(address: str) -> Iterator[Path]:
    """Return a local file with the bytes at an address: the file itself, or a temporary copy.

    Raise ImportError if what reads such addresses is not installed. Raise OSError if the file
    cannot be read.
    """
    if not is_remote(address):
        yield Path(address)
        return
    from fsspec.core import url_to_fs

    system, path = url_to_fs(address)
    with TemporaryDirectory(prefix="reviewdesk-") as folder:
        copy = Path(folder, "part")
        # Read-ahead would keep more in memory than the block itself.
        with system.open(path, "rb", cache_type="none") as given, copy.open("wb") as kept:
            while block := given.read(_BLOCK):
                kept.write(block)
        yield copy
