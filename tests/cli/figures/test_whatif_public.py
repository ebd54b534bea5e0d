"""Whole public runs under every policy, recounted from their JSON in plain Python."""

import json
import math
import statistics
from fractions import Fraction
from typing import Any

import pytest

from tests.cli.conftest import Cli
from tests.helpers import SHARED

DATA = SHARED / "data"
NAMES = ("llmbar-rating-natural", "llmbar-cot-natural", "triviaqa-gpt4t")

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the shared public data are not here")

Row = dict[str, Any]
Made = tuple[str | None, float | None, float | None]
"""What a policy decides of a verdict, its score, and the share of votes that passed."""


def ballots(verdict: Row, row: Row) -> list[tuple[float | None, bool | None]]:
    """Score and vote of each seat that is left."""
    found = []
    for juror in verdict["jurors"]:
        if juror["id"] == row["dropped"]:
            continue
        score, vote = juror.get("score"), juror.get("pass")
        withheld = "pass" in juror and vote is None
        if row["threshold"] is not None and score is not None and not withheld:
            vote = score >= row["threshold"]
        found.append((score, vote))
    return found


def cut(n: int, fraction: float, rounding: str) -> int:
    x = Fraction(str(fraction)) * n
    if rounding == "down":
        g = math.floor(x) or (1 if x > Fraction(1, 2) else 0)
    else:
        g = math.ceil(x) if rounding == "up" else round(x)
    return min(g, (n - 1) // 2) if n > 2 else 0


def by_votes(rule: str, votes: list[bool], seated: int, quorum: Any) -> str | None:
    passes, fails = sum(votes), len(votes) - sum(votes)
    if not votes:
        return None
    if rule == "majority":
        return "pass" if passes * 2 > seated else "fail" if fails * 2 > seated else "inconclusive"
    # A vote that is missing could have been anything, so these rules count it against either side.
    if rule == "unanimous":
        return "pass" if passes == seated else "fail" if fails == seated else "inconclusive"
    if rule == "supermajority":
        least, enough = Fraction(2, 3) * seated, len(votes) >= 3
        made = "pass" if passes >= least else "fail" if fails >= least else "inconclusive"
        return made if enough else "inconclusive"
    if isinstance(quorum, str):
        return "pass" if Fraction(passes, seated) >= Fraction(quorum) else "fail"
    # Two decimals are enough for the quorums of the table and of these runs.
    share = Fraction(math.floor(Fraction(passes, seated) * 100 + Fraction(1, 2)), 100)
    met = passes == seated if quorum == 1 else share >= Fraction(str(quorum))
    return "pass" if met else "fail"


def by_scores(rule: str, scores: list[float], row: Row, trim: Row) -> float | None:
    if not scores:
        return None
    if rule == "trimmed_mean":
        fraction = row["fraction"] if row["fraction"] is not None else trim.get("fraction", 0.2)
        rounding = row["rounding"] or trim.get("rounding", "down")
        g = cut(len(scores), fraction, rounding)
        scores = sorted(scores)[g : len(scores) - g]
    if rule in {"highest", "lowest"}:
        return max(scores) if rule == "highest" else min(scores)
    return statistics.median(scores) if rule == "median" else statistics.fmean(scores)


def decide(verdict: Row, row: Row) -> Made:
    left = ballots(verdict, row)
    scores = [score for score, _ in left if score is not None]
    votes = [vote for _, vote in left if vote is not None]
    share = sum(votes) / len(votes) if votes else None
    rule = row["strategy"] or verdict["strategy"]
    trim = verdict.get("trim") or {}
    if rule in {"quorum", "majority", "unanimous", "supermajority"}:
        quorum = verdict["quorum"] if row["quorum"] is None else row["quorum"]
        made = by_votes(rule, votes, len(left), quorum)
        # A majority is worth 1 or 0, a quorum and votes that agree the mean of the scores.
        worth = {"pass": 1.0, "fail": 0.0}.get(made or "")
        return made, worth if rule == "majority" else by_scores("mean", scores, row, trim), share
    if rule == "weighted_average":
        # No juror of these runs has a weight, and the median stands in where one failed.
        failed = any(juror["error"] for juror in verdict["jurors"] if juror["id"] != row["dropped"])
        rule = "median" if failed else "mean"
    value = by_scores(rule, scores, row, trim)
    threshold = verdict["threshold"] if row["threshold"] is None else row["threshold"]
    # In two verdicts every juror gives a score of .5 and withholds its vote: they decide nothing.
    if value is None or threshold is None or not votes:
        return None, value, share
    decision = "pass" if value >= threshold - 1e-9 else "fail"
    if rule == "lowest" and decision == "pass" and len(scores) < len(left):
        # The score that is missing could have been lower.
        decision = "inconclusive"
    return decision, value, share


def recount(verdicts: list[Row], truth: dict[str, str], row: Row) -> Row:
    made = [decide(verdict, row) for verdict in verdicts]
    both = {"pass", "fail"}
    before = [verdict["decision"] for verdict in verdicts]
    now = [decision for decision, _, _ in made]
    decided = [one for one in made if one[0] in both]
    scored = all(value is not None for _, value, _ in decided)
    pairs = []
    for verdict, (decision, value, share) in zip(verdicts, made, strict=True):
        if decision in both and truth.get(verdict["id"]) in both:
            sure = value if scored else share
            assert sure is not None
            right = decision == truth[verdict["id"]]
            pairs.append((sure if decision == "pass" else 1 - sure, right))
    bins: dict[int, list[float]] = {}
    for sure, right in pairs:
        bins.setdefault(min(int(10 * sure + 1e-9), 9), []).append(sure - right)
    n = len(pairs)
    return {
        "flipped": sum({a, b} == both for a, b in zip(before, now, strict=True)),
        "changed": sum(a != b for a, b in zip(before, now, strict=True)),
        "decided": len(decided),
        "inconclusive": len(made) - len(decided),
        "undecided": now.count(None),
        "pass_rate": now.count("pass") / len(decided) if decided else None,
        "n_labelled": n,
        "accuracy": sum(right for _, right in pairs) / n if n else None,
        "brier": sum((sure - right) ** 2 for sure, right in pairs) / n if n else None,
        "ece": sum(abs(sum(found)) for found in bins.values()) / n if n else None,
        "confidence_source": "support" if scored else "vote_share",
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_policy_is_as_a_recount_has_it(name: str, cli: Cli) -> None:
    file = DATA / f"{name}.report.json"
    assert cli("ingest", file).code == 0
    assert cli("labels", "import", DATA / f"{name}.truth.jsonl").code == 0
    verdicts = json.loads(file.read_text(encoding="utf-8"))["verdicts"]
    lines = (DATA / f"{name}.truth.jsonl").read_text(encoding="utf-8").splitlines()
    truth = {line["id"]: line["truth"] for line in map(json.loads, lines)}
    standing, *rows = cli("whatif", "--json").json
    jurors = {juror["id"] for verdict in verdicts for juror in verdict["jurors"]}
    # Ten rules, five trims by three roundings, seven quorums, five thresholds, and the jurors.
    assert len(rows) == 10 + 15 + 7 + 5 + len(jurors)
    for row in rows:
        expected = recount(verdicts, truth, row)
        assert {key: row[key] for key in expected} == pytest.approx(expected, abs=1e-9), row
    calibrated = cli("calibrate", "--json").json
    assert standing["policy"] == "as it stands"
    for key in ("accuracy", "brier", "ece", "design", "confidence_source"):
        assert standing[key] == calibrated[key]
    assert standing["pass_rate"] == calibrated["observed_positive_rate"]
    assert (standing["flipped"], standing["changed"], standing["n_labelled"]) == (
        0, 0, calibrated["n"],
    )  # fmt: skip
