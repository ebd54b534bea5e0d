"""Where the source documents of the panel's arithmetic contradict themselves, each other or us.

CONSENSUS is the jury consensus page of mcptest, RECORD the decision record on multi-judge
consensus, CROSS the documentation of cross-judge and TRIM the essay on the jury trim rule.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from reviewdesk.domain.assessment.assess import assess
from reviewdesk.domain.assessment.result import Assessment, Breach
from reviewdesk.domain.audit.trail import remarks
from reviewdesk.domain.jury.label_rules import label_vote
from reviewdesk.domain.jury.rules import quorum_met, quorum_met_strictly, trim_count
from reviewdesk.domain.jury.scores import closeness, r_wg, trim, unit_alpha, weighted_average
from reviewdesk.domain.verdict import Decision, Rounding, Strategy
from tests.domain.bodies import body, juror, panel, read, values

PASS, FAIL = 0.9, 0.1


def judged(*scores: float | None, **defaults: Any) -> Assessment:
    return assess(read(panel(*scores), **({"threshold": 0.7} | defaults)))


def trimmed(*scores: float) -> float | None:
    return values(scores, [None] * len(scores), 0.2).trimmed_mean


@dataclass(frozen=True)
class Resolution:
    """A number that cannot hold as written: what is said, what we do and why."""

    where: str
    says: str
    we: str
    why: str
    ours: Callable[[], object]
    expected: object


def _tolerates(*scores: float | None) -> str:
    verdict = read(panel(*scores), threshold=0.7, strategy="trimmed_mean")
    return next(t for t in remarks(verdict, assess(verdict)) if t.startswith("breakdown"))


def _degraded(seated: Sequence[float | None]) -> int:
    return len(judged(*seated, strategy="trimmed_mean").degraded)


def _single() -> tuple[object, ...]:
    found = judged(0.9)
    return found.agreement.spread.raw, found.agreement.alpha, found.band, found.escalation


def _unweighted() -> object:
    return weighted_average([0.8, 0.6], [3.0, None])


def _docstring_alpha(votes: str) -> float:
    """Alpha by CROSS's docstring: differing pairs over ``Σ n_i n_j / (N - 1)``."""
    n = len(votes)
    counts = [votes.count(label) for label in sorted(set(votes))]
    differing = n * (n - 1) / 2 - sum(c * (c - 1) / 2 for c in counts)
    expected = sum(a * b for i, a in enumerate(counts) for j, b in enumerate(counts) if i != j)
    return 1 - differing / (expected / (n - 1))


_SIX = {"weighted_average", "median", "majority", "unanimous", "highest", "lowest"}

RESOLUTIONS = [
    Resolution(
        "CONSENSUS, choosing a quorum",
        "the rule is fraction >= quorum, and 2/3 = 0.667 meets 0.67",
        "round the share half up to the decimals of the quorum, and mark where that decides",
        "0.667 >= 0.67 is false; the example is what its readers rely on",
        lambda: (
            quorum_met(2, 3, 0.67),
            quorum_met_strictly(2, 3, 0.67),
            judged(PASS, PASS, FAIL, quorum=0.67).marks,
        ),
        (True, False, Breach.ROUNDING),
    ),
    Resolution(
        "CONSENSUS, the fields",
        "threshold defaults to 0.7 and quorum to 0.5",
        "a file that states neither has no votes and no decision",
        "the defaults belong to panel files; a foreign file may have meant something else",
        lambda: (assess(read(panel(0.9))).votes.answered, assess(read(panel(0.9))).decision),
        (0, None),
    ),
    Resolution(
        "CONSENSUS, confidence band and gate",
        "of one juror the band is null and escalation false; and: they read low and true",
        "as fields they are undefined and empty; low and true are for gates alone",
        "a single juror has no agreement to be low",
        _single,
        (None, None, None, ()),
    ),
    Resolution(
        "CONSENSUS, gate targets",
        "jury.agreement is Krippendorff's alpha, a number 0..1 to hold against a minimum of 0.7",
        "unit alpha is kept for parity; the agreement of a verdict is r_WG on its scores",
        "alpha of one item is 1 or exactly 0, so 0.68 .71 .72 and 0 .71 .72 would read alike",
        lambda: (
            unit_alpha([False, True, True]),
            round(r_wg([0.68, 0.71, 0.72]).raw or 0, 4),
            round(r_wg([0.0, 0.71, 0.72]).raw or 0, 4),
        ),
        # Thousandths about 2110/3: squares 5200/6 -> 1 - .0052. About 1430/3: the 3-fold
        # distances 1430, 700, 730 give squares 3067800 / 9, / 2 * 12 = 2045200 millionths.
        (0.0, 0.9948, -1.0452),
    ),
    Resolution(
        "CONSENSUS, bias signals",
        "jury.same_family reads false where there is no generating model",
        "unknown is null as a field; false is for gates alone",
        "nothing was compared",
        lambda: assess(read(body(juror("a", 0.9, model="claude-4")))).same_family,
        None,
    ),
    Resolution(
        "RECORD, agreement()",
        "the agreement of fewer than two scores is 1.0",
        "undefined",
        "nobody agreed with anybody",
        lambda: closeness([0.7]),
        None,
    ),
    Resolution(
        "RECORD, the enumeration",
        "highest: ship only if all are happy; lowest: paranoid evaluation",
        "highest passes if anyone is happy, lowest only if all are",
        "the comments are swapped: the maximum is over the line as soon as one score is",
        lambda: (
            judged(PASS, FAIL).decisions.highest,
            judged(PASS, FAIL).decisions.lowest,
            judged(PASS, PASS).decisions.lowest,
        ),
        (Decision.PASS, Decision.FAIL, Decision.PASS),
    ),
    Resolution(
        "RECORD, constraints",
        "five strategies were on the table; and: all six live in the enumeration",
        "all six, and highest and lowest are two of them",
        "the list names highest and lowest on one line",
        lambda: {strategy.value for strategy in Strategy} >= _SIX,
        True,
    ),
    Resolution(
        "RECORD, weighted_average",
        "a judge without a weight is left out of the sum",
        "it counts with weight 1, and is named",
        "leaving it out drops an answer without a word; (3 * .8 + .6) / 4 is not .8",
        lambda: round(float(str(_unweighted())), 9),
        0.75,
    ),
    Resolution(
        "RECORD, decision; TRIM, what the panel does",
        "outliers: no trimmed mean, the median on failure; and: a trimmed mean throughout",
        "both are strategies; the median stands in for the weighted average alone",
        "a trim already tolerates what the stand-in is for",
        lambda: (
            judged(0.9, 0.8, None, strategy="weighted_average").rule.used,
            judged(0.9, 0.8, None, strategy="trimmed_mean").rule.used,
        ),
        ("median", "trimmed_mean"),
    ),
    Resolution(
        "CROSS, krippendorff_alpha",
        "differing pairs over Σ n_i n_j / (N - 1), within -1..1",
        "1 or 0, as the package's own code gives",
        "the docstring sets a number of pairs against a share: of N split ballots it gives "
        "1 - (N - 1) / 2, so .5, 0, -.5 for 2, 3, 4 with one and the same disagreement",
        lambda: [(_docstring_alpha(v), unit_alpha(v)) for v in ("ab", "aab", "aabb")],
        [(0.5, 0.0), (0.0, 0.0), (-0.5, 0.0)],
    ),
    Resolution(
        "CROSS, agreement_pct and avg_confidence",
        "0.0 where no ballot is valid",
        "undefined",
        "nobody is no share of nobody, and no confidence is not none at all",
        lambda: (label_vote([]).agreement_pct, label_vote([]).avg_confidence),
        (None, None),
    ),
    Resolution(
        "CROSS, no valid ballots",
        "majority gives (fallback, False) and unanimous (fallback, True)",
        "the fallback, and the disagreement undefined, under every rule",
        "nobody was there to agree or to disagree",
        lambda: {label_vote([], rule).disagreement for rule in ("majority", "unanimous")},
        {None},
    ),
    Resolution(
        "TRIM, implementation notes",
        "round down by default; and: 20% of four is one",
        "down, save that one goes where the floor is 0 and more than a half was meant",
        "of four, .8 rounds down to 0, and the essay trims three and four alike",
        lambda: [trim_count(n, 0.2) for n in (2, 3, 4, 5)],
        [0, 1, 1, 1],
    ),
    Resolution(
        "TRIM, why twenty percent",
        "30% of five rounds to two",
        "one by default; two if the panel names the rounding nearest or up",
        "1.5 rounds down to 1; the direction is part of the rule's name",
        lambda: [trim_count(5, 0.3, r) for r in (Rounding.DOWN, Rounding.NEAREST, Rounding.UP)],
        [1, 2, 2],
    ),
    Resolution(
        "TRIM, the bribe cost",
        "the breakdown point is 20% of five and 17% of six; and 40% of five, 28% of seven, 30% of "
        "ten",
        "say how many jurors are tolerated and how many break it, of how many",
        "the first convention is g/n, the second (g+1)/n: 1/5 and 1/6, 2/5, 2/7 and 3/10",
        lambda: [_tolerates(*[0.5] * n) for n in (5, 6, 7, 10)],
        [
            "breakdown: tolerates 1 of 5, breaks at 2",
            "breakdown: tolerates 1 of 6, breaks at 2",
            "breakdown: tolerates 1 of 7, breaks at 2",
            "breakdown: tolerates 2 of 10, breaks at 3",
        ],
    ),
    Resolution(
        "TRIM, a judge that times out",
        "with four of five the breakdown point drops to 25%",
        "it tolerates one of four as it did one of five",
        "1/4 is more than 1/5; what drops is the number of scores behind the mean",
        lambda: _tolerates(0.5, 0.5, 0.5, 0.5, None),
        "breakdown: tolerates 1 of 4, breaks at 2",
    ),
    Resolution(
        "TRIM, panel size",
        "the breakdown point grows with the panel, as rounding works in one's favour",
        "the count per end grows in steps of five jurors",
        "the share falls from 1/5 to 1/9 before the next juror is cut",
        lambda: [trim_count(n, 0.2) for n in range(5, 11)],
        [1, 1, 1, 1, 1, 2],
    ),
    Resolution(
        "TRIM, degraded panels",
        "fewer than five returned is degraded; and: fewer than were seated is",
        "either one is a reason, and both are listed",
        "six of seven lost a juror, three of three never had enough",
        lambda: [
            _degraded([0.5] * 5),
            _degraded([*[0.5] * 6, None]),
            _degraded([0.5] * 3),
            _degraded([*[0.5] * 4, None]),
        ],
        [0, 1, 1, 2],
    ),
    Resolution(
        "TRIM, one compromised judge",
        "it is trimmed, so the verdict moves by zero",
        "it stays within the scores of the honest jurors, and may move",
        "at 80 instead of 72 it is kept and 78 is cut: (80 + 81 + 84) / 3",
        lambda: round(trimmed(80, 78, 81, 84, 89) or 0, 6),
        round(245 / 3, 6),
    ),
    Resolution(
        "TRIM, high stakes",
        "round up for high-stakes decisions; and: take the median for them",
        "the regime takes the median; rounding up is a rule of its own",
        "of eight at 20%, up drops two at each end and the median three",
        lambda: (trim([s / 10 for s in range(8)], 0.2, Rounding.UP).per_side, trim_count(8, 0.49)),
        (2, 3),
    ),
]
