"""Rows that the project's own tests give, and wrong programs that a named test must catch."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from scaling.measure import ROOT

from trusting.rows import FaultRow


@dataclass(frozen=True, slots=True)
class WrongProgram:
    """A change of one line that breaks a promise, and the test that must fail by it."""

    what: str
    file: str
    line: str
    instead: str
    test: str


WRONG = (
    WrongProgram(
        "labels are not committed", "store/connect.py", '        conn.execute("COMMIT")\n',
        '        conn.execute("ROLLBACK")\n',
        "tests/store/test_processes.py::test_a_label_that_was_acknowledged_survives_a_kill",
    ),
    WrongProgram(
        "waiting writers are served by chance", "store/connect.py",
        "if not place.is_first():", "if not path:",
        "tests/store/test_processes.py::test_a_writer_that_waits_is_served_before_those_that_come",
    ),
    WrongProgram(
        "sync is off", "store/connect.py", "PRAGMA synchronous=FULL", "PRAGMA synchronous=NORMAL",
        "tests/trust/test_power.py",
    ),
    WrongProgram(
        "keys are not hidden", "live/keys.py",
        "        if not self._forms:\n", "        if self._forms:\n",
        "tests/live/replies/test_faults.py",
    ),
    WrongProgram(
        "masked keys are not hidden", "domain/safetext.py",
        "        if not self._parts or ", "        if self._parts or ", "tests/live/test_keys.py",
    ),
    WrongProgram(
        "text bypasses the one door", "domain/safetext.py",
        "    if _is_suspect(shown):\n", "    if not text:\n", "tests/test_untrusted.py",
    ),
    WrongProgram(
        "verify reads no hashes", "store/verification.py",
        "_record_problems, _chain_problems,", "_record_problems,",
        "tests/store/test_log_audit.py::test_an_attack_is_detected",
    ),
    WrongProgram(
        "the outbox is removed", "app/controllers/jobs.py",
        "            except BusyError:\n                pass\n",
        "            except BusyError:\n                raise\n",
        "tests/app/controllers/test_outbox.py::test_twenty_labels_wait_in_order_and_all_are_saved",
    ),
    WrongProgram(
        "what is unsaved at the end is not kept", "app/controllers/queue.py",
        "        if edits and core.kept_file is None:\n", "        if False:\n",
        "tests/app/controllers/test_unsaved.py",
    ),
    WrongProgram(
        "kept changes carry no key", "desk/review/edits.py",
        "    if once is None or entry.item is None:\n", "    if True:\n",
        "tests/app/controllers/test_unsaved.py::test_a_kill_between_two_of_them_saves_none_twice",
    ),
    WrongProgram(
        "files are written under their own names", "file_output.py",
        "    descriptor, part = _open_part(path.parent, _PRIVATE if private else _PUBLIC)\n",
        "    descriptor, part = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), path\n",
        "tests/test_file_output.py",
    ),
    WrongProgram(
        "malformed input reaches the parser", "app/terminal/changes.py",
        "except (ValueError, ArithmeticError):", "except KeyError:",
        "tests/app/terminal/test_input.py",
    ),
    WrongProgram(
        "a fault on a damaged desk is the program's", "desk/core.py",
        "        if problems:\n", "        if not path:\n",
        "tests/desk/test_repair.py",
    ),
    WrongProgram(
        "verify does not read SQLite's own tables", "store/verification.py",
        "found[kind, name] = f\"", "found[kind, name] = \"\" and f\"",
        "tests/store/test_trust_root.py::test_a_table_that_was_redefined_is_named_and_not_opened",
    ),
    WrongProgram(
        "the small tables have no hashes", "store/verification.py",
        "        if stated.get(table) != now.get(table):\n", "        if stated is now:\n",
        "tests/store/test_table_hashes.py",
    ),
    WrongProgram(
        "a repair ends at the first bad row", "store/repair.py",
        "                except ReviewDeskError:\n", "                except KeyError:\n",
        "tests/desk/test_repair.py::test_a_row_that_is_refused_costs_no_other",
    ),
    WrongProgram(
        "a visitor's keys write files", "file_output.py",
        "    if not of_desk and not may_write():\n", "    if not path:\n",
        "tests/app/test_visitor.py",
    ),
    WrongProgram(
        "marks are not capped", "domain/safetext.py",
        "        if count > MOST_MARKS:\n", "        if not char:\n",
        "tests/domain/test_safetext.py",
    ),
)  # fmt: skip

TESTED = (
    (
        "hostile texts through every headless command, marks that pile up among them",
        "0 control bytes, at most 8 marks a character",
        ("tests/test_untrusted.py", "tests/domain/test_safetext.py"),
        ("shell", "import", "export"),
    ),
    (
        "hostile texts on every screen", "0 control bytes, no markup",
        ("tests/app/paint/test_styled.py", "tests/app/screens/test_screen_text.py",
         "tests/app/terminal/test_drawing.py", "tests/views/test_renderers.py"),
        ("terminal", "browser"),
    ),
    (
        "faults of providers on both wires",
        "0 hangs, each its own status, the sentinel key found 0 times",
        ("tests/live/replies", "tests/live/test_keys.py",
         "tests/desk/live/test_rerun.py"),
        ("library", "re-run"),
    ),
    (
        "tampering with log, labels, runs, re-runs, views and guards",
        "each detected by `verify`, or by `--expect-head`",
        ("tests/store/test_log_audit.py",
         "tests/store/test_trust_root.py", "tests/store/test_rederive.py",
         "tests/desk/team/test_merge.py",
         "tests/desk/team/test_run_files.py"),
        ("library", "sync", "re-run"),
    ),
    (
        "redefined tables, SQLite's own and the index's included",
        "each named by `verify`, and the desk not opened",
        ("tests/store/test_trust_root.py::test_a_table_that_was_redefined_is_named_and_not_opened",
         "tests/store/test_trust_root.py::test_a_table_that_our_statements_would_touch_is_not_opened",
         "tests/store/test_trust_root.py::test_a_redefined_table_of_an_older_desk_is_not_opened"),
        ("shell", "library"),
    ),
    (
        "every action of the console, pressed by somebody in a browser",
        "no file of the server written",
        ("tests/app/test_visitor.py",),
        ("browser",),
    ),
    (
        "planted links, existing targets and kills of writers of files",
        "nothing outside overwritten, nothing partial under a final name",
        ("tests/test_file_output.py", "tests/cli/test_files_written.py",
         "tests/desk/test_backups.py", "tests/app/controllers/test_unsaved.py"),
        ("terminal", "shell", "library", "export"),
    ),
)  # fmt: skip
"""What is tried, the goal, the tests that try it, and the entrances that those tests come in by."""


def tested_rows() -> Iterator[FaultRow]:
    """Run the tests of the rows that the suite covers, the slow ones among them."""
    for what, goal, tests, entrances in TESTED:
        there = [test for test in tests if (ROOT / test.partition("::")[0]).exists()]
        done = _pytest(ROOT, there)
        passed, failed = (_count(done.stdout, word) for word in ("passed", "failed"))
        told = f"{passed} tests hold, {failed} fail"
        yield FaultRow(what, goal, told, done.returncode == 0, entrances)


def wrong_rows(folder: Path, most: int) -> Iterator[FaultRow]:
    """Break a copy of the program in one way after another; a test must see each."""
    for number, wrong in enumerate(WRONG[:most]):
        copy = folder / f"wrong-{number}"
        for name in ("reviewdesk", "tests", "benchmarks", "sample_runs"):
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", copy)
        file = copy / "reviewdesk" / wrong.file
        text = file.read_text(encoding="utf-8")
        if wrong.line not in text:
            yield FaultRow(f"control: {wrong.what}", "a test fails", "the line is gone", False)
            continue
        file.write_text(text.replace(wrong.line, wrong.instead), encoding="utf-8")
        done = _pytest(copy, [wrong.test], "-x")
        name = re.search(r"^(?:FAILED|ERROR) (\S+?)(?:\[| |$)", done.stdout, re.MULTILINE)
        found = f"`{name[1].rpartition('/')[2]}` fails" if name else "no test fails"
        yield FaultRow(f"control: {wrong.what}", "a test fails", found, name is not None)
        shutil.rmtree(copy)


def _pytest(root: Path, tests: list[str], *words: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-n0", "-m", "slow or not slow", "-p", "no:cacheprovider",
         *words, *tests],
        cwd=root, env=kept | {"PYTHONPATH": str(root)}, check=False, capture_output=True, text=True,
    )  # fmt: skip


def _count(text: str, word: str) -> int:
    found = re.findall(rf"(\d+) {word}", text)
    return int(found[-1]) if found else 0
