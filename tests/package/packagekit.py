"""The built package, an index that serves it, and a home that has neither it nor anything else."""

import base64
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from email import message_from_string
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import Distribution, distribution
from pathlib import Path
from threading import Thread
from typing import Any

from packaging.requirements import Requirement
from packaging.tags import parse_tag, sys_tags
from packaging.utils import canonicalize_name

_LEFT_OUT = {"RECORD", "INSTALLER", "REQUESTED", "direct_url.json"}
"""What an installer adds to a distribution."""


def build(source: Path, folder: Path, *targets: str) -> None:
    """Build archives of the package, with the build backend that is installed."""
    options = [option for target in targets for option in ("-t", target)]
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", folder, *options],
        cwd=source, check=True, capture_output=True,
    )  # fmt: skip


def unpack(sdist: Path, folder: Path) -> Path:
    """Unpack a source distribution, and return its one folder."""
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (found,) = folder.iterdir()
    return found


def only(folder: Path, pattern: str) -> Path:
    """Return the one file of a folder that fits."""
    (found,) = folder.glob(pattern)
    return found


def metadata(wheel: Path) -> str:
    """Return the METADATA of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (one for one in archive.namelist() if one.endswith(".dist-info/METADATA"))
        return archive.read(name).decode()


def needed(*asked: str) -> set[str]:
    """Return what some requirements take here, all the way down, by names of distributions."""
    found: set[str] = set()
    waiting = [Requirement(one) for one in asked]
    seen = set()
    while waiting:
        one = waiting.pop()
        if str(one) in seen:
            continue
        seen.add(str(one))
        found.add(canonicalize_name(one.name))
        extras = {"", *one.extras}
        for line in distribution(one.name).requires or ():
            below = Requirement(line)
            if not below.marker or any(below.marker.evaluate({"extra": e}) for e in extras):
                waiting.append(below)
    return found


def pack(name: str, folder: Path) -> None:
    """Pack an installed distribution into the wheel that it came from, as an index serves it."""
    found = distribution(name)
    files = [path for path in found.files or () if _belongs(path.parts, path.name)]
    (info,) = {path.parts[0] for path in files if path.parts[0].endswith(".dist-info")}
    folder.mkdir(parents=True)
    wheel = folder / f"{info.removesuffix('.dist-info')}-{_tag(found)}.whl"
    record = []
    with zipfile.ZipFile(wheel, "w") as archive:
        for path in files:
            data = path.read_binary()
            archive.writestr(path.as_posix(), data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
            record.append(f"{path.as_posix()},sha256={digest},{len(data)}\n")
        archive.writestr(f"{info}/RECORD", "".join(record) + f"{info}/RECORD,,\n")


def _belongs(parts: tuple[str, ...], name: str) -> bool:
    return not {"..", "__pycache__"} & set(parts) and name not in _LEFT_OUT


def _tag(found: Distribution) -> str:
    """Return a tag of the distribution's wheel that this interpreter takes."""
    tags = message_from_string(found.read_text("WHEEL") or "").get_all("Tag", [])
    known = set(sys_tags())
    return next(tag for tag in tags if parse_tag(tag) & known)


@contextmanager
def index(folder: Path, wheel: Path) -> Iterator[str]:
    """Serve a wheel, what it needs and what builds it as a simple index; yield its address."""
    asked = message_from_string(metadata(wheel)).get_all("Requires-Dist", [])
    for name in needed(*(line for line in asked if "extra ==" not in line), "hatchling"):
        pack(name, folder / name)
    (folder / "reviewdesk").mkdir()
    shutil.copy(wheel, folder / "reviewdesk")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Silent, directory=str(folder)))
    thread = Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Silent(SimpleHTTPRequestHandler):
    """A folder's listing is the page that an index has for a project."""

    def copyfile(self, source: Any, outputfile: Any) -> None:
        """Send a file; a client that has read its end of the archive asks for no more."""
        with suppress(ConnectionError):
            super().copyfile(source, outputfile)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Leave the terminal to the tests."""


def empty_home(home: Path, address: str, *tools: str) -> dict[str, str]:
    """Return the variables of somebody who has a Python, a shell and the named tools alone.

    Packages come from the index at ``address``; nothing of the user's is read or written.
    """
    programs = home / "programs"
    programs.mkdir(parents=True)
    python = programs / "python3"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    for tool in tools:
        (programs / tool).symlink_to(Path(sys.executable).with_name(tool))
    return {
        "HOME": str(home),
        "PATH": f"{home}/.local/bin:{programs}:{os.defpath}",
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_INDEX_URL": address,
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_COMPILE": "1",  # a small part of what is installed is run
        "UV_DEFAULT_INDEX": address,
        "UV_NO_CONFIG": "1",
        "UV_PYTHON": sys.executable,
        "UV_PYTHON_DOWNLOADS": "never",
        "PIPX_DEFAULT_PYTHON": sys.executable,
    }
