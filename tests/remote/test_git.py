"""Desks that sync through work trees of one bare repository, which each pushes to."""

from __future__ import annotations

import os
import subprocess
from contextlib import closing
from pathlib import Path
from shutil import copy, which

import pytest

from reviewdesk.desk.team.places import place_at
from reviewdesk.domain.records import Truth
from reviewdesk.errors import DeskError, UsageError
from reviewdesk.remote.folder import FolderPlace
from reviewdesk.remote.git import GitPlace
from tests.desk.team.sharekit import act, exchange, make, state, until_quiet
from tests.desk.team.test_sync import id_of
from tests.helpers import POSIX, load, numbered, open_desk

PASS, FAIL = Truth.PASS, Truth.FAIL
pytestmark = [pytest.mark.skipif(which("git") is None, reason="needs git"), POSIX]


@pytest.fixture(autouse=True)
def _of_nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Give git a user, and nothing of the settings of this machine."""
    settings = tmp_path / "gitconfig"
    settings.write_text("[user]\nname=a\nemail=a@example.org\n[init]\ndefaultBranch=main\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    made = tmp_path / "team.git"
    made.mkdir()
    git(made, "init", "-q", "--bare")
    return made


def clone(bare: Path, name: str) -> GitPlace:
    git(bare.parent, "clone", "-q", str(bare), name)
    place = place_at(str(bare.parent / name))
    assert isinstance(place, GitPlace)
    return place


@pytest.mark.slow
def test_desks_sync_over_a_remote_and_then_nothing_is_new(bare: Path, tmp_path: Path) -> None:
    desks = make(tmp_path, "a", "b")
    places = {name: clone(bare, f"tree-{name}") for name in desks}
    # Both begin before the other has pushed, so that neither has a common commit.
    act(desks["a"], "ann", "label", "v1", PASS)
    act(desks["b"], "ben", "label", "v1", FAIL)
    assert exchange(desks["a"], places["a"]).sent == 2
    assert exchange(desks["b"], places["b"]).taken == 2
    assert exchange(desks["a"], places["a"]).taken == 2
    head = git(bare, "rev-parse", "main")
    for name, path in desks.items():
        found = exchange(path, places[name])
        assert (found.taken, found.sent, found.refused) == (0, 0, ())
        assert git(Path(places[name].address), "status", "--porcelain") == ""
    assert git(bare, "rev-parse", "main") == head
    assert state(desks["a"]) == state(desks["b"])


@pytest.mark.slow
def test_what_a_killed_sync_has_written_is_committed_first(bare: Path, tmp_path: Path) -> None:
    desks = make(tmp_path, "a", "b")
    first, second = clone(bare, "first"), clone(bare, "second")
    exchange(desks["b"], second)
    # Both hold the run, whose file has the same name and bytes.
    exchange(desks["a"], FolderPlace(tmp_path / "first"))
    assert git(tmp_path / "first", "status", "--porcelain") != ""
    assert exchange(desks["a"], first).taken == 1
    assert git(tmp_path / "first", "status", "--porcelain") == ""
    assert exchange(desks["b"], second).taken == 1
    # A file that a person deletes is written again by its own desk.
    (path,) = (tmp_path / "second").glob(f"chains/{id_of(desks['a'])}/*.jsonl")
    path.unlink()
    exchange(desks["b"], second)
    assert exchange(desks["a"], first).sent == 1
    exchange(desks["b"], second)
    assert path.exists()


class Overtaken(GitPlace):
    """A work tree before each of whose first pushes somebody else pushes."""

    def __init__(self, path: Path, others: list[tuple[Path, GitPlace]]) -> None:
        super().__init__(path, ("chains", "runs"))
        self.others = others

    def publish(self) -> bool:
        if self.others:
            desk, place = self.others.pop()
            act(desk, "ben", "note", "v2", PASS)
            exchange(desk, place)
        return super().publish()


@pytest.mark.slow
def test_who_is_overtaken_merges_and_pushes_again(bare: Path, tmp_path: Path) -> None:
    desks = make(tmp_path, "a", "b", "c")
    first, second = clone(bare, "tree-b"), clone(bare, "tree-c")
    git(tmp_path, "clone", "-q", str(bare), "tree-a")
    place = Overtaken(tmp_path / "tree-a", [(desks["b"], first), (desks["c"], second)])
    act(desks["a"], "ann", "label", "v1", PASS)
    found = exchange(desks["a"], place)
    assert place.others == []
    assert (found.sent, found.taken) == (2, 4)
    git(tmp_path / "tree-b", "pull", "-q")
    until_quiet({"a": desks["a"]}, place)
    until_quiet({"b": desks["b"]}, first)
    assert state(desks["b"])["head"] == state(desks["a"])["head"]


@pytest.mark.slow
def test_a_conflict_over_a_chain_keeps_what_was_published(bare: Path, tmp_path: Path) -> None:
    desks = make(tmp_path, "a")
    one, other = clone(bare, "one"), clone(bare, "other")
    exchange(desks["a"], one)
    double = Path(copy(desks["a"], tmp_path / "double.db"))
    exchange(double, other)
    act(desks["a"], "ann", "label", "v1", PASS)
    act(double, "ann", "label", "v1", FAIL)
    git(tmp_path / "other", "remote", "set-url", "origin", str(tmp_path / "nowhere"))
    with pytest.raises(DeskError, match="git cannot fetch"):
        exchange(double, other)
    exchange(desks["a"], one)
    git(tmp_path / "other", "remote", "remove", "origin")
    exchange(double, other)  # committed, without a remote
    git(tmp_path / "other", "remote", "add", "origin", str(bare))
    (refused,) = exchange(double, other).refused
    assert "event 1: is another event than the one here" in refused.problem
    assert exchange(desks["a"], one).refused == ()
    assert git(tmp_path / "other", "status", "--porcelain") == ""


def test_a_work_tree_without_a_remote_is_committed_alone(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    git(tree, "init", "-q")
    # Neither what others staged, nor hooks, nor rules to ignore files count.
    for name in ("pre-commit", "post-commit", "commit-msg"):
        hook = tree / ".git" / "hooks" / name
        hook.write_text("#!/bin/sh\ntouch hooked\nexit 1\n")
        hook.chmod(0o755)
    (tree / ".gitignore").write_text("runs/\n*.jsonl\n")
    (tree / "other").write_text("x")
    git(tree, "add", "other")
    with closing(open_desk(tmp_path / "a.db")) as desk:
        load(desk, numbered(2))
    exchange(tmp_path / "a.db", place_at(str(tree)))
    held = git(tree, "ls-tree", "-r", "--name-only", "HEAD").splitlines()
    assert {name.partition("/")[0] for name in held} == {"chains", "runs"}
    assert len(held) == 4
    assert git(tree, "status", "--porcelain").splitlines() == ["A  other", "?? .gitignore"]


def test_a_folder_inside_a_work_tree_is_one_of_git_only_if_asked(
    bare: Path, tmp_path: Path
) -> None:
    clone(bare, "tree")
    inside = tmp_path / "tree" / "-labels"
    inside.mkdir()
    assert not isinstance(place_at(str(inside)), GitPlace)
    with closing(open_desk(tmp_path / "a.db")) as desk:
        load(desk, numbered(2))
    exchange(tmp_path / "a.db", place_at(str(inside), git=True))
    held = git(bare, "ls-tree", "-r", "--name-only", "main").splitlines()
    assert {name.partition("/")[0] for name in held} == {"-labels"}


def test_what_git_cannot_do_is_said_in_a_sentence(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    with pytest.raises(UsageError, match="there is no such folder"):
        place_at(str(plain), git=True)
    plain.mkdir()
    with pytest.raises(DeskError, match="not a git repository"):
        place_at(str(plain), git=True)
    git(plain, "init", "-q")
    git(plain, "remote", "add", "origin", "https://ann:secret@127.0.0.1:9/x.git")
    with pytest.raises(DeskError, match="git cannot fetch: unable to access") as caught:
        exchange(tmp_path / "a.db", place_at(str(plain)))
    assert "secret" not in str(caught.value)
    git(plain, "commit", "-q", "--allow-empty", "-m", "x")
    git(plain, "checkout", "-q", "--detach")
    with pytest.raises(DeskError, match="is at no branch"):
        exchange(tmp_path / "a.db", place_at(str(plain)))
