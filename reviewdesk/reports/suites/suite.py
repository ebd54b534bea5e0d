"""Read suites of gates from YAML; a suite is checked completely before any gate is run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from reviewdesk.domain.gates import calibration_targets, jury_targets
from reviewdesk.domain.gates.calibration_targets import HONEST, RATES, Reliability
from reviewdesk.domain.gates.expect import Expectation
from reviewdesk.domain.gates.limits import BRIER_LIMIT, ECE_LIMIT
from reviewdesk.domain.stats.correction import Corrected
from reviewdesk.errors import ReportError, SuiteError
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.bytes.yaml_nodes import Node, read_yaml
from reviewdesk.reports.suites.matchers import Schema
from reviewdesk.reports.suites.nodes import Nodes, Table

_SUITE = ("jury", "calibration")
_JURY = ("name", "report", "run", "case", "expect")
_OBSERVED = ("observed_positive_rate", "observed_n")
_CALIBRATION = ("name", "labels", "run", "reliability", *_OBSERVED, "expect")
_RELIABILITY = ("tp", "fn", "tn", "fp")


@dataclass(frozen=True, slots=True)
class JuryGate:
    """One ``jury:`` entry, with the line numbers for errors about its source and its case."""

    line: int
    name: str
    report: str | None
    run: str | None
    case: str | None
    source_line: int
    case_line: int
    expect: tuple[Expectation, ...]

    @property
    def source(self) -> str:
        """The report or run as the suite names it."""
        return self.report or self.run or ""


@dataclass(frozen=True, slots=True)
class CalibrationGate:
    """One ``calibration:`` entry; ``by_default`` is True if the entry has no ``expect``.

    It names a labels file or a run of the desk. The observed rate of a run is known only later, and
    so are its default expectations.
    """

    line: int
    name: str
    labels: str | None
    run: str | None
    source_line: int
    reliability: Reliability | None
    reliability_line: int
    observed: float | None
    observed_n: float | None
    """The number of verdicts behind the observed rate."""
    expect: tuple[Expectation, ...]
    by_default: bool

    @property
    def source(self) -> str:
        """The labels file or run as the suite names it."""
        return self.labels or self.run or ""

    @property
    def rate(self) -> Corrected | None:
        """The corrected rate if both of its inputs are given, else None."""
        if self.reliability is None or self.observed is None:
            return None
        return self.reliability.correct(self.observed)


Gate: TypeAlias = JuryGate | CalibrationGate


@dataclass(frozen=True, slots=True)
class Suite:
    """The gates of a suite in the order of its file; ``file`` is the name that errors print."""

    file: str
    entries: tuple[Gate, ...]


def read_suite(path: str) -> Suite:
    """Read a suite and check all of it.

    Raises:
        SuiteError: the file is not a valid suite; the error names file and line.
    """
    try:
        source = Source.from_path(path)
        root = read_yaml(source)
    except ReportError as error:
        # The readers of bytes raise errors about reports; this is a suite.
        raise SuiteError(error.file, 0, error.problem, "Name the suite's YAML file.") from error
    nodes = Nodes(source.shown_name)
    table = nodes.table(root, "a suite", _SUITE)
    if not table:
        raise nodes.fail(root.line, "holds no gates", "Write a list under jury: or calibration:.")
    entries: list[Gate] = []
    if "jury" in table:
        entries += [_jury_gate(nodes, one) for one in nodes.items(table, "jury", root)]
    if "calibration" in table:
        entries += [
            _calibration_gate(nodes, one) for one in nodes.items(table, "calibration", root)
        ]
    return Suite(nodes.file, tuple(sorted(entries, key=lambda one: one.line)))


def _jury_gate(nodes: Nodes, node: Node) -> JuryGate:
    table = nodes.table(node, "a jury entry", _JURY)
    name = nodes.text(table, "name", node)
    sources = _sources(nodes, table, node, "report")
    source = nodes.text(table, sources[0], node)
    return JuryGate(
        line=node.line,
        name=name,
        report=source if sources[0] == "report" else None,
        run=source if sources[0] == "run" else None,
        case=nodes.text(table, "case", node) if "case" in table else None,
        source_line=table[sources[0]].line,
        case_line=table["case"].line if "case" in table else node.line,
        expect=tuple(
            nodes.expectation(one, jury_targets.SPANS) for one in nodes.items(table, "expect", node)
        ),
    )


def _sources(nodes: Nodes, table: Table, node: Node, file: str) -> list[str]:
    """Return the one key that names an entry's source, in a list."""
    found = [key for key in (file, "run") if key in table]
    if len(found) != 1:
        problem = f"has both {file} and run" if found else f"has neither {file} nor run"
        raise nodes.fail(node.line, problem, "Name one: a file, or a run of the desk.")
    return found


def _calibration_gate(nodes: Nodes, node: Node) -> CalibrationGate:
    table = nodes.table(node, "a calibration entry", _CALIBRATION)
    reliability = _reliability(nodes, table["reliability"]) if "reliability" in table else None
    observed, observed_n = _observed_rate(nodes, table)
    both = reliability is not None and observed is not None
    name = nodes.text(table, "name", node)
    (key,) = _sources(nodes, table, node, "labels")
    source = nodes.text(table, key, node)
    return CalibrationGate(
        line=node.line,
        name=name,
        labels=source if key == "labels" else None,
        run=source if key == "run" else None,
        source_line=table[key].line,
        reliability=reliability,
        reliability_line=table["reliability"].line if reliability else node.line,
        observed=observed,
        observed_n=observed_n,
        expect=(
            _expectations(nodes, table, node, both=both)
            if "expect" in table
            else default_expectations(observed if both else None)
        ),
        by_default="expect" not in table,
    )


def _reliability(nodes: Nodes, node: Node) -> Reliability:
    table = nodes.table(node, "reliability", _RELIABILITY)
    return Reliability(
        **{key: nodes.amount(nodes.member(table, key, node), key) for key in _RELIABILITY}
    )


def _observed_rate(nodes: Nodes, table: Table) -> tuple[float | None, float | None]:
    """Return the judge's pass rate and its number of verdicts, each None if not given."""
    rate, count = (table.get(key) for key in _OBSERVED)
    if count is not None and rate is None:
        problem = "has observed_n without observed_positive_rate"
        raise nodes.fail(count.line, problem, "Give the rate of those verdicts too.")
    return (
        None if rate is None else nodes.share(rate, "observed_positive_rate"),
        None if count is None else nodes.amount(count, "observed_n", 1),
    )


def _expectations(nodes: Nodes, table: Table, node: Node, *, both: bool) -> tuple[Expectation, ...]:
    found = []
    for one in nodes.items(table, "expect", node):
        found.append(nodes.expectation(one, calibration_targets.SPANS))
        target = found[-1].target
        if "run" in table:
            continue
        if target in RATES and not both:
            problem = f"{target} needs both reliability and observed_positive_rate"
            raise nodes.fail(one.line, problem, "Give both, or leave it out.")
        if target in HONEST and "observed_n" not in table:
            problem = f"{target} needs run, or observed_n beside observed_positive_rate"
            hint = "Say of how many verdicts that rate is, or leave the target out."
            raise nodes.fail(one.line, problem, hint)
    return tuple(found)


def default_expectations(observed: float | None) -> tuple[Expectation, ...]:
    """Return the expectations of a calibration entry that has no ``expect``."""
    limits = {
        calibration_targets.CalibrationTarget.ECE: ECE_LIMIT,
        calibration_targets.CalibrationTarget.BRIER: BRIER_LIMIT,
    }
    if observed is not None:
        limits[calibration_targets.CalibrationTarget.CORRECTED] = observed
    return tuple(
        Expectation(target.value, Schema.of({"maximum": limit})) for target, limit in limits.items()
    )
