"""Format figures, intervals, counts, times and decisions, the same way on every surface."""

from collections.abc import Iterable, Mapping, Sequence
from math import isinf
from typing import Any

from reviewdesk.domain.panel import samples
from reviewdesk.domain.records import Design, Run, Truth
from reviewdesk.domain.stats.figures import Estimate
from reviewdesk.domain.verdict import SLACK, CanonicalBallot, Decision
from reviewdesk.domain.verdict import number as known_number
from reviewdesk.views.document import Text, Tone, outside

NONE = "-"
"""The text for an undefined figure."""
OF_ARCHIVE = (
    "This run is an archive. Its jurors are not compared, because the desk has only the ballots of "
    "flagged verdicts and of the random check; archive --json sums up all ballots."
)
DESIGNS = {
    Design.NONE: "no pass or fail labels yet",
    Design.AD_HOC: "out of order",
    Design.ESCALATED_ONLY: "only escalated verdicts are labelled",
    Design.PARTIAL: "one group is not labelled",
    Design.WEIGHTED: "weighted by group",
    Design.CENSUS: "every decided verdict is labelled",
    Design.FILE: "rows of a file",
    Design.SELECTED: "not always asked",
}
"""Each design of labels in a few words."""
MEANS = {
    Design.NONE: "they describe nothing yet",
    Design.AD_HOC: "they describe themselves only",
    Design.ESCALATED_ONLY: "they describe the escalated verdicts only",
    Design.PARTIAL: "they do not describe the run",
    Design.WEIGHTED: "they describe the run",
    Design.CENSUS: "they are the run's figures, not an estimate",
    Design.FILE: "they describe the file",
    Design.SELECTED: "its figures are of the verdicts that needed this juror",
}
"""The items that labels of each design describe."""
VOTES = {True: "pass", False: "fail", None: "no vote"}
TRUTHS = {
    Truth.PASS: "pass",
    Truth.FAIL: "fail",
    Truth.UNSURE: "can't tell",
    Truth.DISPUTED: "reviewers differ",
}
_TONES = {
    Decision.PASS: Tone.PASS,
    Decision.FAIL: Tone.FAIL,
    Truth.PASS: Tone.PASS,
    Truth.FAIL: Tone.FAIL,
}


def number(value: float | None, digits: int = 3, sign: str = "") -> str:
    """Return a figure with ``digits`` decimals, or a dash if it is undefined."""
    # Rounded twice, so that the same figure, summed in another order, reads the same.
    return NONE if value is None else f"{round(value, 12):{sign}.{digits}f}"


def agreement(value: float | None, digits: int = 2) -> str:
    """Return an agreement as people read it, from 0 to 1, or a dash if it is undefined."""
    return number(None if value is None else min(1.0, max(0.0, value)), digits)


def label(truth: Truth) -> Text:
    return Text(TRUTHS[truth], _TONES.get(truth, Tone.NOTE))


def interval(low: float | None, high: float | None, digits: int = 3, sign: str = "") -> str:
    """Return an interval in brackets, or a dash if an end is undefined or infinite."""
    if low is None or high is None or isinf(low):
        return NONE
    return f"[{number(low, digits, sign)}, {number(high, digits, sign)}]"


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Return the shortest distinct form of names with parts between slashes, by the whole name.

    What all names share at the same place is left out first: whole parts and, within parts, words
    before ``_``. Then leading parts are.
    """
    every = list(dict.fromkeys(names))
    parts = [name.split("/") for name in every]
    most = max(map(len, parts), default=1)
    if len({*map(len, parts)}) == 1 and most > 1 and len(every) > 1:
        columns = [_without_shared(column) for column in zip(*parts, strict=True)]
        parts = [[part for part in one if part] for one in zip(*columns, strict=True)]
        # A name that lost a part more would then stand beside parts of another kind.
        most = max(map(len, parts)) if len({*map(len, parts)}) == 1 else 1
    for last in range(1, most):
        short = ["/".join(one[-last:]) for one in parts]
        if len(set(short)) == len(every) and all(short):
            return dict(zip(every, short, strict=True))
    return {name: "/".join(one) or name for name, one in zip(every, parts, strict=True)}


def bare(name: str) -> str:
    """Return a name's letters and digits in lower case, to see if two names differ."""
    return "".join(filter(str.isalnum, name.casefold()))


def _without_shared(column: Sequence[str]) -> list[str]:
    """Return texts without the words before ``_`` that all of them begin with."""
    pieces = [text.split("_") for text in column]
    shared = 0
    while all(len(one) > shared for one in pieces) and len({one[shared] for one in pieces}) == 1:
        shared += 1
    return ["_".join(one[shared:]) for one in pieces]


def basis(design: Design, n: int) -> str:
    return f"{plural(n, 'label')}, {DESIGNS[design]}"


def labels(value: float) -> str:
    """Return a count of labels; a label of verdicts that were decided differently is shared."""
    return f"{value:,}" if value == int(value) else f"{value:,.1f}"


def plural(value: float, one: str, many: str = "") -> str:
    return f"{labels(value)} {one if value == 1 else many or one + 's'}"


def held(run: Run, noun: str = " verdicts") -> str:
    """Return the number of verdicts of a run and, for an archive, of those in the desk."""
    kept = f" ({run.verdicts:,} held here)" if run.verdicts != run.whole else ""
    return f"{run.whole:,}{noun}{kept}"


def share(part: int, whole: int) -> str:
    """Return a part of a whole as a percentage, or a dash if the whole is 0."""
    return NONE if not whole else f"{100 * part / whole:.1f}%"


def money(usd: float) -> str:
    """Return US dollars with two decimals from 1 on, else with four."""
    return f"${usd:.2f}" if usd >= 1 or not usd else f"${usd:.4f}"


def chance(p: float) -> str:
    """Return a p-value with three decimals, or ``p < 0.001`` if it is smaller."""
    return "p < 0.001" if p < 0.001 else f"p {p:.3f}"


def moment(at: str | None) -> Text:
    """Return an ISO time to the minute, in the zone it was written in, or a dash."""
    return outside(outside(at, 40).text[:16].replace("T", " ") if at else NONE)


def decision(value: Decision | None, none: str = NONE) -> Text:
    """Return a decision as a word in its tone; ``none`` stands for a missing one."""
    if value is None:
        return Text(none, Tone.MUTED)
    return Text(decided(value), _TONES.get(value, Tone.WARN))


def decided(value: Decision | None) -> str:
    return "no decision" if value in {None, Decision.INCONCLUSIVE} else str(value)


def answer(one: Mapping[str, Any], threshold: float | None) -> str:
    """Describe one answer of a juror: its vote or label, else its status, and its score."""
    chosen = samples.choice(one, threshold)
    score = known_number(one.get("score"))
    word = VOTES[chosen] if isinstance(chosen, bool) else chosen or one.get("status")
    return f"{word}" + ("" if score is None else f" {number(score)}")


def answers(body: CanonicalBallot, threshold: float | None) -> str:
    """Return each answer of a juror that was asked several times, and its flip rate."""
    if not body.get("samples"):
        return ""
    told = []
    (differing, pairs) = samples.flips(body, threshold)
    for one in samples.answers(body):
        where = f"round {one['round']} " if one.get("round") else ""
        where += "other order " if one.get("swapped") else ""
        told.append(f"{where}{answer(one, threshold)}")
    if not told:
        return ""
    rate = f"; flip rate {differing / pairs:.0%}" if pairs else ""
    return f"{plural(len(told), 'answer')}: {', '.join(told)}{rate}"


def between(found: Estimate | None, sign: str = "", digits: int = 3) -> str:
    """Return an interval in brackets, ``exact`` if it is a point, or ``-`` if it is undefined."""
    if found is None:
        return NONE
    exact = found.high - found.low < SLACK
    return "exact" if exact else interval(found.low, found.high, digits, sign)
