"""The command where workers cannot be had: the extra is missing, or their processes are ended."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from reviewdesk.errors import UsageError
from reviewdesk.scale.crew import expand, local_copy, refuse_keys
from tests.desk.archive.archivekit import verdicts, write_parts
from tests.helpers import POSIX, ROOT, environment
from tests.scale.workerkit import worker_processes

_HIDDEN = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"dask", "distributed"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Hidden())
from reviewdesk.cli import run
sys.exit(run(sys.argv[1:]))
"""
_KILLS = """
import os, signal, sys
if any("multiprocessing.spawn" in word for word in sys.orig_argv):
    os.kill(os.getpid(), signal.SIGKILL)
"""


def archive(folder: Path, *python: str, path: Path = ROOT) -> tuple[int, str, str, bool]:
    """Put parts together; return the code, what was said, and whether there is a desk."""
    parts = write_parts(folder / "parts", verdicts(4), 2)
    new = folder / "new.db"
    known = environment(folder / "desk.db")
    done = subprocess.run(
        [sys.executable, *python, "archive", *parts, "-o", new, "--workers", "2"],
        env=known | {"PYTHONPATH": f"{path}{os.pathsep}{known['PYTHONPATH']}"}, cwd=ROOT,
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr, new.exists()


@pytest.mark.slow
def test_without_the_extra_a_sentence_says_how_to_get_it(tmp_path: Path) -> None:
    assert archive(tmp_path, "-c", _HIDDEN) == (
        2,
        "",
        (
            "archive needs a package that is not installed. "
            "Add it with: pip install 'reviewdesk[scale]'\n"
        ),
        False,
    )


@pytest.mark.slow
@POSIX
def test_workers_that_are_killed_while_they_start_are_one_sentence(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(_KILLS)
    assert archive(tmp_path, "-m", "reviewdesk", path=tmp_path / "site") == (
        2,
        "",
        (
            "the workers of this machine did not start: a process of theirs was ended, or may not "
            "listen. Start again, with fewer if memory is short.\n"
        ),
        False,
    )


@pytest.mark.slow
@POSIX
def test_ctrl_c_is_one_sentence_and_leaves_no_desk_and_no_worker(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    parts, new = write_parts(tmp_path / "parts", verdicts(4), 2), tmp_path / "new.db"
    process = subprocess.Popen(
        [sys.executable, "-m", "reviewdesk", "archive", *parts, "-o", new, "--workers", "2"],
        env=environment(tmp_path / "desk.db"), cwd=ROOT, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    while not worker_processes(process.pid):
        assert process.poll() is None
    # A terminal sends it to every process of the command.
    os.killpg(process.pid, signal.SIGINT)
    # It returns once nobody holds the output, which the workers do.
    assert process.communicate() == ("", "interrupted\n")
    assert (process.returncode, new.exists()) == (130, False)


def test_a_pattern_names_files_in_order_and_a_plain_name_itself(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    paths = [tmp_path / name for name in ("b.jsonl", "a.jsonl", "sub/c.jsonl")]
    for path in paths:
        path.touch()
    assert expand(str(tmp_path / "*.jsonl")) == [str(paths[1]), str(paths[0])]
    assert expand(str(tmp_path / "**" / "*.jsonl")) == sorted(map(str, paths))
    assert expand(str(tmp_path / "absent.jsonl")) == [str(tmp_path / "absent.jsonl")]


def test_an_address_is_listed_and_copied_for_a_while() -> None:
    fsspec = pytest.importorskip("fsspec")
    fsspec.filesystem("memory").pipe({"/evals/b.jsonl": b"two", "/evals/a.jsonl": b"one"})
    found = expand("memory://evals/*.jsonl")
    assert found == ["memory:///evals/a.jsonl", "memory:///evals/b.jsonl"]
    with local_copy(found[1]) as path:
        assert path.read_bytes() == b"two"
    assert not path.exists()


def test_an_address_with_a_password_is_refused_without_its_words() -> None:
    with pytest.raises(UsageError) as refused:
        refuse_keys("s3://ann:secret@evals/a.jsonl")
    assert "secret" not in str(refused.value)
    refuse_keys("s3://evals/a.jsonl")
