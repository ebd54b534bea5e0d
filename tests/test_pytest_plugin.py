"""The plugin of pytest, in a pytest of its own: what passes, what fails and how it reads."""

import tomllib
from contextlib import closing
from importlib import import_module

import pytest

from reviewdesk.desk.gates.suite import run_suite
from reviewdesk.domain.records import Truth
from tests.cli.gatekit import AGREE, CALM, SPLIT, entry, suite, write_judge
from tests.helpers import (
    ROOT,
    SAMPLES,
    controls,
    figures_of,
    open_desk,
    printed,
    report,
    source,
    verdict,
)

pytest_plugins = ["pytester"]

TEST = """
def test_judge(reviewdesk_gate):
    reviewdesk_gate({arguments})
"""


@pytest.fixture(scope="module", autouse=True)
def loaded_modules(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Load what gates load: pytester forgets modules, and numpy cannot be loaded twice."""
    run_suite(str(SAMPLES / "library-gates.yml"), lambda: pytest.fail("no run is named"))
    run_suite(str(SAMPLES / "jury-gates.yml"), lambda: pytest.fail("no run is named"))
    with closing(open_desk(tmp_path_factory.mktemp("desk") / "desk.db")) as desk:
        figures_of(desk, desk.load(source(report(CALM))).run)


@pytest.fixture
def folder(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project with a report of one calm and one split jury, which sees this plugin alone."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_PLUGINS", "reviewdesk.pytest")
    monkeypatch.setenv("REVIEWDESK_DESK", str(pytester.path / "desk.db"))
    (pytester.path / "report.json").write_bytes(report(CALM, SPLIT))
    return pytester


def write(folder: pytest.Pytester, text: bytes, arguments: str = "'suite.yml'") -> None:
    (folder.path / "suite.yml").write_bytes(text)
    folder.makepyfile(test_judge=TEST.format(arguments=arguments))


def run(folder: pytest.Pytester, *options: str) -> pytest.RunResult:
    done = folder.runpytest_inprocess(*options)
    assert "Traceback" not in done.stdout.str() + done.stderr.str()
    return done


def test_a_jury_within_its_gates_passes_and_says_what_was_checked(folder: pytest.Pytester) -> None:
    write(folder, suite(entry("calm one", case="calm")))
    done = run(folder, "-rP")
    done.assert_outcomes(passed=1)
    done.stdout.fnmatch_lines(["*reviewdesk gate*", "1 gate: 1 passed, *", "PASS   calm one*"])


def test_a_failure_reads_as_the_command_prints_it(folder: pytest.Pytester) -> None:
    write(folder, suite(entry("calm one", case="calm"), entry("all of them")))
    done = run(folder)
    done.assert_outcomes(failed=1)
    # SPLIT's r_WG is -1.28, which a gate takes as 0.
    done.stdout.fnmatch_lines(
        [
            "2 gates: 1 passed, 1 failed, 0 skipped",
            "PASS   calm one  (report.json, calm, values: 1 recomputed)",
            "FAIL   all of them  (report.json, 1 of 2 verdicts pass, values: 2 recomputed)",
            "       split: jury.agreement is 0 (recomputed r_wg), must be at least 0.7, *",
        ],
        consecutive=True,
    )
    done.stdout.fnmatch_lines(["FAILED test_judge.py::test_judge - Failed: 2 gates: 1 passed, *"])
    # Neither the plugin's lines nor the test's own stand in the report.
    assert "pytest.py" not in done.stdout.str()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            b"jury:\n  - name: n\n    report: r\n    expect: 3\n",
            "suite.yml:4: $.jury?0?.expect: must be a list, *",
        ),
        (suite(entry("n", "report: gone.json")), "suite.yml:3: report: *gone.json*no such file*"),
        (suite(entry("n", "run: gone")), "suite.yml:3: run: *there is no desk*desk=*"),
    ],
    ids=["suite", "report", "desk"],
)
def test_what_is_unreadable_names_its_line(text: bytes, told: str, folder: pytest.Pytester) -> None:
    write(folder, text)
    done = run(folder)
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines([told])
    assert "During handling" not in done.stdout.str()
    assert not (folder.path / "desk.db").exists()


def test_a_report_of_the_test_takes_the_place_of_what_entries_name(folder: pytest.Pytester) -> None:
    (folder.path / "made.json").write_bytes(report(CALM))
    write(folder, suite(entry(), entry("m", "run: gone")), "'suite.yml', report='made.json'")
    run(folder).assert_outcomes(passed=1)


@pytest.mark.slow
def test_the_labels_of_a_suite_judge_the_report_that_the_test_made(folder: pytest.Pytester) -> None:
    """Ten labels pass and ten fail; a panel that passes all of them is right on half."""
    bodies = write_judge(folder.path)
    (folder.path / "made.json").write_bytes(report(*bodies, report_id="made"))
    folder.makepyfile(
        test_judge=TEST.format(
            arguments="'judge/suite.yml', report='made.json', require_representative=True"
        )
    )
    run(folder).assert_outcomes(passed=1)
    worse = [verdict(body["id"], 0.95, 0.95, 0.95) for body in bodies]
    (folder.path / "made.json").write_bytes(report(*worse, report_id="made"))
    done = run(folder)
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["FAIL   the judge of run *20 of 20 labels joined*"])
    (folder.path / "made.json").write_bytes(report(*bodies[:17], report_id="made"))
    done = run(folder)
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["not shown: the judge of run (only 17 of 20 labels joined*"])


def test_a_loaded_run_and_labels_that_are_no_proof(folder: pytest.Pytester) -> None:
    with closing(open_desk(folder.path / "desk.db")) as desk:
        desk.label(desk.find(desk.load(source(report(CALM, SPLIT))).run, "split"), Truth.PASS)
    text = b"calibration: [{name: n, run: run, expect: [{target: n, matcher: {exact: 1}}]}]"
    write(folder, text)
    run(folder).assert_outcomes(passed=1)
    write(folder, text, "'suite.yml', desk='desk.db', require_representative=True")
    done = run(folder)
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["NOT SHOWN  n *", "not representative: n (*"])


def test_hostile_names_stay_harmless(folder: pytest.Pytester) -> None:
    write(folder, suite(entry('"\\e[2J\\x9b31m\\u202e"', "report: report.json", AGREE)))
    done = run(folder, "--color=no")
    done.assert_outcomes(failed=1)
    assert controls(done.stdout.str()) == set()


@pytest.mark.slow
def test_workers_report_the_same(folder: pytest.Pytester) -> None:
    write(folder, suite(entry("all of them")))
    done = folder.runpytest_subprocess("-p", "xdist", "-n2")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["FAIL   all of them *", "       split: jury.agreement is 0 *"])


_LOADS = """
import sys, pytest
before = set(sys.modules)
import {module}
print(*sorted(set(sys.modules) - before))
"""


def test_the_entry_point_names_the_module_which_loads_nothing_else() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (name,) = project["entry-points"]["pytest11"].values()
    assert hasattr(import_module(name), "reviewdesk_gate")
    assert printed(_LOADS.format(module=name)).split() == [
        "reviewdesk",
        "reviewdesk.pytest",
        "reviewdesk.version",
    ]
