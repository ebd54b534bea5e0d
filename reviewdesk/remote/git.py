"""A folder of a git work tree as a shared place: merged before it is read, pushed once written.

Git is started without a shell and without hooks, and asks nothing. What the work tree's owner has
configured beyond that holds; git itself refuses a work tree that belongs to somebody else.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
from pathlib import Path
from shutil import which
from typing import BinaryIO

from reviewdesk.errors import DeskError, UsageError
from reviewdesk.frozen import Frozen
from reviewdesk.remote.folder import FolderPlace

_SAFE = (
    f"core.hooksPath={os.devnull}",
    "core.fsmonitor=false",
    "core.autocrlf=false",
    "protocol.ext.allow=never",
    "submodule.recurse=false",
    "rerere.enabled=false",
    # Chains resemble each other, and none is ever another one under a new name.
    "merge.renames=false",
    "merge.directoryRenames=false",
)
_ELSEWHERE = (
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR",
    "GIT_NAMESPACE", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_PREFIX", "GIT_IMPLICIT_WORK_TREE",
    "GIT_SHALLOW_FILE",
)  # fmt: skip
"""Variables that would lead git to another repository, as inside a hook."""
_ENVIRONMENT = {"GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "true", "LC_ALL": "C", "LANGUAGE": "C"}
_ATTRIBUTES = b"* -text -filter -ident -merge -diff -working-tree-encoding\n"
"""Git keeps the bytes of our files as they are, and never merges the lines of two."""
_LEFT_OUT = ":(exclude,glob)**/.*.part"
_MESSAGE = "Sync labels and runs of reviewdesk"
_SECRET = re.compile(r"//[^/@\s]+@")
_CLEAR = "Try git there yourself: git -C {place} {verb}."


class _Remote(Frozen):
    """Where a branch is pushed to and fetched from."""

    name: str
    ref: str


class GitPlace(FolderPlace):
    """A folder of a work tree. Only the folders of the place are ever committed."""

    def __init__(self, path: Path, folders: tuple[str, ...]) -> None:
        """Take a folder of a work tree, and the names of the folders that a place has.

        Raises:
            UsageError: git is not installed, or the folder is in no work tree.
        """
        super().__init__(path)
        self._path, self._folders = path, folders
        self._fetched: str | None = None  # the commit at the remote when it was last asked
        found = which("git")
        if not path.is_dir():
            raise UsageError(f"{path}: there is no such folder", "Name one of a work tree.")
        if found is None:
            raise UsageError(f"{path}: git is not installed", "Install git.")
        self._git = found
        inside = self._run("rev-parse", "--is-inside-work-tree", fails=True)
        if inside.returncode or inside.stdout.strip() != "true":
            self._fail("status", inside)

    def fetch(self) -> None:
        """Commit what an earlier sync has left, and merge what others pushed.

        Raises:
            DeskError: git cannot do it; the work tree is as it was.
        """
        if self._run("rev-parse", "--verify", "--quiet", "MERGE_HEAD", fails=True).returncode == 0:
            hint = "Finish it there with git commit, or end it with git merge --abort."
            raise DeskError(f"{self.address}: a merge of git is unfinished", hint)
        self._commit()
        remote = self._remote()
        if remote is not None and self._has_fetched(remote):
            self._merge()

    def publish(self) -> bool:
        """Commit and push; return False if others pushed first, so that theirs must be merged."""
        self._commit()
        remote, head = self._remote(), self._commit_of("HEAD")
        if remote is None or head is None or head == self._fetched:
            return True
        target = f"HEAD:{remote.ref}"
        done = self._run(
            "push", "--porcelain", "--no-verify", "--no-recurse-submodules", "--", remote.name,
            target, fails=True,
        )  # fmt: skip
        if done.returncode == 0:
            return True
        said = done.stdout + done.stderr
        if "[rejected]" in said or "cannot lock ref" in said or "failed to update ref" in said:
            return False
        return self._fail("push", done)

    def put(self, name: str, given: BinaryIO) -> None:
        """Write a file whole, beside the attributes by which git keeps its bytes."""
        attributes = f"{name.partition('/')[0]}/.gitattributes"
        if not (self._path / attributes).exists():
            super().put(attributes, io.BytesIO(_ATTRIBUTES))
        super().put(name, given)

    def _remote(self) -> _Remote | None:
        """Return where the branch has its upstream, else the only remote, else None."""
        branch = self._run("symbolic-ref", "--quiet", "HEAD", fails=True).stdout.strip()
        if not branch.startswith("refs/heads/"):
            hint = "Switch to one there: git switch BRANCH."
            raise DeskError(f"{self.address}: the work tree is at no branch", hint)
        short = branch.removeprefix("refs/heads/")
        name, ref = (self._config(f"branch.{short}.{key}") for key in ("remote", "merge"))
        if name and ref:
            return None if name == "." else _Remote(name, ref)
        remotes = self._run("remote").stdout.split()
        if len(remotes) > 1:
            hint = f"Choose one there: git branch --set-upstream-to=REMOTE/{short}."
            raise DeskError(f"{self.address}: has several remotes and no upstream", hint)
        return _Remote(remotes[0], branch) if remotes else None

    def _config(self, key: str) -> str:
        return self._run("config", "--get", key, fails=True).stdout.strip()

    def _has_fetched(self, remote: _Remote) -> bool:
        """Fetch the branch; return False if the remote has none yet."""
        done = self._run(
            "fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--", remote.name,
            remote.ref, fails=True,
        )  # fmt: skip
        if done.returncode == 0:
            self._fetched = self._commit_of("FETCH_HEAD")
            return self._fetched is not None
        asked = self._run("ls-remote", "--exit-code", "--", remote.name, remote.ref, fails=True)
        if asked.returncode == 2:
            self._fetched = None
            return False
        return self._fail("fetch", done)

    def _merge(self) -> None:
        """Merge what was fetched; of a file of ours that both sides changed, theirs is taken.

        Ours is in the desk still, which then refuses theirs by name, and in the history.
        """
        done = self._run(
            "merge", "--quiet", "--no-edit", "--no-verify", "--no-stat", "--no-squash", "--commit",
            "--ff", "--allow-unrelated-histories", "FETCH_HEAD", fails=True,
        )  # fmt: skip
        if done.returncode == 0:
            return
        theirs, gone, other = self._conflicts()
        if other or not (theirs or gone):
            self._run("merge", "--abort", fails=True)
            self._fail("merge", done, other[0] if other else "")
        if theirs:
            self._run("checkout", "--quiet", "--theirs", "--", *theirs)
            self._run("add", "--force", "--", *theirs)
        if gone:
            self._run("rm", "--quiet", "--force", "--", *gone)
        self._run("commit", "--quiet", "--no-edit", "--no-verify")

    def _conflicts(self) -> tuple[list[str], list[str], list[str]]:
        """Return the paths in conflict: ours that they have, ours that they deleted, all others."""
        found: dict[str, set[str]] = {}
        for line in self._run("ls-files", "--unmerged", "-z", "--full-name", ":/").stdout.split(
            "\0"
        ):
            about, _, path = line.partition("\t")
            if path:
                found.setdefault(path, set()).add(about.split()[-1])
        inside = self._run("rev-parse", "--show-prefix").stdout.rstrip("\n")
        begins = tuple(f"{inside}{folder}/" for folder in self._folders)
        ours = {path: stages for path, stages in found.items() if path.startswith(begins)}
        theirs = [f":/{path}" for path, stages in ours.items() if "3" in stages]
        gone = [f":/{path}" for path, stages in ours.items() if "3" not in stages]
        return theirs, gone, [path for path in found if path not in ours]

    def _commit(self) -> None:
        """Commit the folders of the place as they are, and nothing else of the work tree."""
        held = [name for name in self._folders if self._holds(name)]
        if not held:
            return
        # A rule to ignore "runs" is common, and not meant for these.
        self._run("add", "--all", "--force", "--", *held, _LEFT_OUT)
        changes = ("diff", "--cached", "--quiet", "--no-ext-diff", "--no-textconv", "--", *held)
        if self._run(*changes, fails=True).returncode:
            self._run("commit", "--quiet", "--no-verify", "-m", _MESSAGE, "--only", "--", *held)

    def _holds(self, folder: str) -> bool:
        """Return True if there is something in a folder, or git knows that there was."""
        path = self._path / folder
        if path.is_dir() and not path.is_symlink() and any(path.iterdir()):
            return True
        return bool(self._run("ls-files", "-z", "--", folder).stdout)

    def _commit_of(self, name: str) -> str | None:
        found = self._run("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}", fails=True)
        return found.stdout.strip() or None

    def _run(self, *words: str, fails: bool = False) -> subprocess.CompletedProcess[str]:
        """Run git in the folder; unless it may fail, raise DeskError with what it said."""
        settings = [part for one in _SAFE for part in ("-c", one)]
        kept = {name: value for name, value in os.environ.items() if name not in _ELSEWHERE}
        try:
            done = subprocess.run(  # noqa: S603 - no shell; names from outside stand behind --
                [self._git, *settings, *words],
                cwd=self._path,
                env=kept | _ENVIRONMENT,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                encoding="utf-8",
                errors="backslashreplace",
                check=False,
            )
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise DeskError(f"{self.address}: git does not start: {reason}", "") from error
        if done.returncode and not fails:
            self._fail(words[0], done)
        return done

    def _fail(self, verb: str, done: subprocess.CompletedProcess[str], path: str = "") -> bool:
        """Raise DeskError with the line in which git says why."""
        lines = [line.strip() for line in (done.stderr or done.stdout).splitlines()]
        told = [line for line in lines if line and not line.startswith("hint:")]
        sharp = [line for line in told if line.startswith(("fatal:", "error:", "!", "remote:"))]
        text = (sharp or told or [f"ended with {done.returncode}"])[0]
        text = _SECRET.sub("//", text.removeprefix("fatal: ").removeprefix("error: "))[:300]
        what = f"cannot {verb} {path}: {text}" if path else f"cannot {verb}: {text}"
        raise DeskError(
            f"{self.address}: git {what.rstrip('.')}",
            _CLEAR.format(place=self.address, verb=verb),
        )
