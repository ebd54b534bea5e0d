"""Suites: what they may say, and the file and line of what they may not."""

from pathlib import Path

import pytest
from msgspec.structs import astuple

from reviewdesk.domain.gates.expect import JURY_SPANS
from reviewdesk.errors import SuiteError
from reviewdesk.reports.suites.suite import CalibrationGate, JuryGate, Suite, read_suite

ENTRY = """\
jury:
  - name: n
    report: r.json
    expect:
      - target: jury.agreement
        matcher: { exact: 1 }
"""


def read(tmp_path: Path, text: str) -> Suite:
    path = tmp_path / "s.yml"
    path.write_text(text, encoding="utf-8")
    return read_suite(str(path))


def test_an_entry_as_the_documents_write_it(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        """\
# three expectations
jury:
  - name: "no split decisions"
    report: ./release-notes.json
    case: "summary reads as a deployment note"
    expect:
      - { target: jury.agreement, matcher: { schema: { minimum: 0.7 } } }
      - target: jury.confidence
        matcher: { not: { exact: low } }
        message: too split
      - { target: jury.escalate, matcher: { exact: false } }
  - name: 2024
    run: week-37
    expect: [{ target: jury.bias_warning, matcher: { exact: null } }]
""",
    )
    first, second = found.entries
    assert isinstance(first, JuryGate)
    assert isinstance(second, JuryGate)
    assert (first.name, first.report, first.run) == (
        "no split decisions",
        "./release-notes.json",
        None,
    )
    assert (first.line, first.source_line, first.line_of("case")) == (3, 4, 5)
    assert [one.target for one in first.expect] == list(JURY_SPANS)[:3]
    assert [one.matcher.words for one in first.expect] == [
        "be at least 0.7",
        'not be "low"',
        "be false",
    ]
    assert [one.message for one in first.expect] == ["", "too split", ""]
    # A name is a text, whatever else it looks like.
    assert (second.name, second.run, second.case) == ("2024", "week-37", None)
    assert found.file == str(tmp_path / "s.yml")


def test_a_calibration_entry_as_the_document_writes_it(tmp_path: Path) -> None:
    text = """\
calibration:
  - name: "judge stays calibrated"
    labels: ./calibration-labels.jsonl # one {confidence, correct} per line
    reliability: { tp: 90, fn: 10, tn: 80, fp: 20 }
    observed_positive_rate: 0.50
"""
    (bare,) = read(tmp_path, text).entries
    assert isinstance(bare, CalibrationGate)
    assert bare.by_default
    expected = [("ece", 0.1), ("brier", 0.25), ("corrected_rate", 0.5)]
    assert [(one.target, one.matcher.written) for one in bare.expect] == [
        (target, {"schema": {"maximum": limit}}) for target, limit in expected
    ]
    # (0.5 + 0.8 - 1) / (0.9 + 0.8 - 1) = 0.3 / 0.7
    assert bare.rate is not None
    assert bare.rate.rate == pytest.approx(0.3 / 0.7)
    text += (
        "    expect: [{ target: corrected_rate_high, matcher: { schema: { maximum: 0.60 } } }]\n"
    )
    (said,) = read(tmp_path, text + ENTRY).entries[:1]
    assert isinstance(said, CalibrationGate)
    assert not said.by_default
    assert [one.target for one in said.expect] == ["corrected_rate_high"]


def test_weights_are_decimals_and_a_run_knows_its_own_number(tmp_path: Path) -> None:
    text = """\
calibration:
  - name: n
    labels: l.jsonl
    reliability: { tp: 24.75, fn: 2.5, tn: 8, fp: 4.75 }
    observed_positive_rate: 0.5
    observed_n: 400
    expect: [{ target: honest_rate, matcher: { schema: { minimum: 0.4 } } }]
  - name: m
    run: r
    expect: [{ target: honest_rate_high, matcher: { schema: { maximum: 0.4 } } }]
"""
    first, second = read(tmp_path, text).entries
    assert isinstance(first, CalibrationGate)
    assert isinstance(second, CalibrationGate)
    assert first.reliability is not None
    assert list(astuple(first.reliability)) == [24.75, 2.5, 8, 4.75]
    assert (first.reliability.n, first.line_of("reliability")) == (40, 4)
    assert (first.observed_n, second.observed_n) == (400, None)


def test_entries_come_in_the_order_of_the_file(tmp_path: Path) -> None:
    judge = ENTRY.replace("jury:", "calibration:").split("    report")[0] + "    labels: l.jsonl\n"
    kinds = [
        [type(one) for one in read(tmp_path, text).entries]
        for text in (judge + ENTRY, ENTRY + judge)
    ]
    assert kinds == [[CalibrationGate, JuryGate], [JuryGate, CalibrationGate]]


def changed(old: str, new: str) -> str:
    assert old in ENTRY
    return ENTRY.replace(old, new)


MATCHER = "{ exact: 1 }"
JUDGE = "calibration:\n  - name: n\n    labels: l.jsonl\n"
WRONG: dict[str, tuple[str, int, str]] = {
    "a list": ("- a\n", 1, "$: must be a mapping that describes a suite"),
    "no gates": ("{}\n", 1, "has no gates"),
    "an empty list": ("jury: []\n", 1, "jury: must be a list of 1 or more, found 0"),
    "no list": ("jury: 3\n", 1, "jury: must be a list, found 3"),
    "an unknown block": (ENTRY + "tools: []\n", 7, "$.tools: is not a key of a suite"),
    "an entry of text": (
        "jury:\n  - x\n",
        2,
        "$.jury[0]: must be a mapping that describes a jury entry",
    ),
    "an unknown key": (changed("report:", "reprt:"), 3, 'Did you mean "report"? Known: name, '),
    "no name": (changed("name: n\n    ", ""), 2, "name: is missing"),
    "an empty name": (changed("name: n", "name: ''"), 2, "name: must be a text"),
    "no source": (changed("    report: r.json\n", ""), 2, "neither report nor run"),
    "two sources": (changed("report: r.json", "report: r\n    run: x"), 2, "both report and run"),
    "no expect": (ENTRY.split("    expect", maxsplit=1)[0], 2, "$.jury[0].expect: is missing"),
    "nothing expected": (
        ENTRY.split("      -", maxsplit=1)[0],
        4,
        "expect: must have a value",
    ),
    "an unknown target": (changed("agreement", "agrement"), 5, 'Did you mean "jury.agreement"?'),
    "no target": (changed("target: jury.agreement\n        ", ""), 5, "target: is missing"),
    "no matcher": (
        changed("\n        matcher: { exact: 1 }", ""),
        5,
        "$.jury[0].expect[0].matcher: is missing",
    ),
    "a bare matcher": (
        changed(MATCHER, "1"),
        6,
        "must be a mapping that describes a matcher, found 1",
    ),
    "an empty matcher": (changed(MATCHER, "{}"), 6, "must have one of exact, not, schema, found 0"),
    "two matchers": (changed(MATCHER, "{exact: 1, schema: {minimum: 1}}"), 6, "found 2"),
    "an unknown matcher": (changed(MATCHER, "{contains: x}"), 6, "Known: exact, not, schema."),
    "exact of a text": (changed(MATCHER, "{exact: no}"), 6, 'never "no"'),
    "not of a slip": (
        changed("agreement", "confidence").replace(MATCHER, "{not: {exact: Low}}"),
        6,
        'jury.confidence is "high", "medium" or "low", and never "Low"',
    ),
    "a boolean of YAML 1.1": (
        changed("agreement", "escalate").replace(MATCHER, "{exact: no}"),
        6,
        'jury.escalate is true or false, and never "no"',
    ),
    "no schema": (changed(MATCHER, "{schema: 0.7}"), 6, "schema: must be a mapping, found 0.7"),
    "a wrong schema": (
        changed(MATCHER, "\n          schema:\n            minimum: high"),
        8,
        "schema.minimum: is not a JSON schema",
    ),
    "an endless limit": (changed(MATCHER, "{schema: {minimum: 1e999}}"), 6, "is not a JSON schema"),
    "an endless number": (changed(MATCHER, "{exact: 1e999}"), 6, 'never "1e999"'),
    "a slip below": (
        changed(MATCHER, "\n          schema:\n            anyOf:\n              - minimun: 1"),
        9,
        'Did you mean "minimum"?',
    ),
    "a limit on a word": (
        changed("agreement", "confidence").replace(MATCHER, "{schema: {minimum: 1}}"),
        6,
        "to which minimum does not apply",
    ),
    **{
        f"what cannot fail: {text}": (
            changed("agreement", target).replace(MATCHER, text),
            6,
            f"every value of jury.{target} fits this, so the gate cannot fail",
        )
        for target, text in (
            ("agreement", "{schema: {}}"),
            ("agreement", "{schema: {title: x}}"),
            ("agreement", "{schema: {anyOf: [{minimum: 0.7}, {}]}}"),
            ("agreement", "{not: {schema: {allOf: [{type: string}, {type: number}]}}}"),
            ("confidence", "{schema: {enum: [low, medium, high]}}"),
            ("escalate", "{schema: {type: boolean}}"),
        )
    },
    **{
        f"a limit that no value reaches: {text}": (
            f"{JUDGE}    expect:\n      - {{target: {target}, matcher: {text}}}\n",
            5,
            f"every value of {target} fits this, so the gate cannot fail",
        )
        for target, text in (
            ("accuracy", "{schema: {type: number}}"),
            ("accuracy", "{schema: {minimum: 0}}"),
            ("ece", "{schema: {maximum: 10}}"),
            ("accuracy_low", "{not: {schema: {anyOf: [{minimum: 80}]}}}"),
            ("gap", "{schema: {minimum: -5, maximum: 5}}"),
            ("n", "{schema: {minimum: -1}}"),
        )
    },
    "a message of none": (ENTRY + "        message:\n", 7, "message: must have a value"),
    "no labels": ("calibration:\n  - name: n\n", 2, "has neither labels nor run"),
    "labels and a run": (f"{JUDGE}    run: x\n", 2, "has both labels and run"),
    "another's key": (
        f"{JUDGE}    report: x\n",
        4,
        "is not a key of a calibration entry. Known: name, ",
    ),
    "another's target": (f"{JUDGE}    expect: [{{target: jury.escalate}}]\n", 4, "Known: ece, bri"),
    "half a matrix": (
        f"{JUDGE}    reliability: {{tp: 1, fn: 2}}\n",
        4,
        "$.calibration[0].reliability.tn: is missing",
    ),
    "a negative count": (
        f"{JUDGE}    reliability: {{tp: -1}}\n",
        4,
        "tp: must be a number, 0 or more and at most 1e+15, found -1",
    ),
    "a count of nothing": (
        f"{JUDGE}    observed_positive_rate: 1\n    observed_n: 0\n",
        5,
        "observed_n: must be a number, 1 or more and at most 1e+15, found 0",
    ),
    "a count without its rate": (
        f"{JUDGE}    observed_n: 40\n",
        4,
        "has observed_n without observed_positive_rate",
    ),
    "a pass rate of nobody knows how many": (
        f"{JUDGE}    expect: [{{target: honest_rate_low, matcher: {{exact: 1}}}}]\n",
        4,
        "honest_rate_low needs run, or observed_n beside observed_positive_rate",
    ),
    "a rate of 2": (f"{JUDGE}    observed_positive_rate: 2\n", 4, "must be a number from 0 to 1"),
    "a rate without a matrix": (
        f"{JUDGE}    expect:\n      - target: corrected_rate\n        matcher: {{exact: 1}}\n",
        5,
        "needs both reliability and observed_positive_rate",
    ),
    "an exact word": (
        f"{JUDGE}    expect: [{{target: ece, matcher: {{exact: low}}}}]\n",
        4,
        'ece is a number from 0 to 1, and never "low"',
    ),
    "escapes": (changed("report:", '"\\e[31m\\u202e":'), 3, "is not a key of a jury entry"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_has_file_and_line(tmp_path: Path, name: str) -> None:
    text, line, problem = WRONG[name]
    with pytest.raises(SuiteError) as caught:
        read(tmp_path, text)
    said = str(caught.value)
    assert said.startswith(f"{tmp_path / 's.yml'}:{line}: ")
    assert problem in said
    assert said.isprintable()


def test_files_that_are_none(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.yml", tmp_path / "a\0b"):
        with pytest.raises(SuiteError) as caught:
            read_suite(str(path))
        assert str(caught.value).endswith("Name the suite's YAML file.")
