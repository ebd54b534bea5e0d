"""The words of figures, rules and flags, each with its sentence: for the screen, shell and docs."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from functools import cache

from msgspec import Struct

from reviewdesk.domain.assessment.flags import WORDS, Flag, FlagNote
from reviewdesk.errors import NotFoundError
from reviewdesk.views.document import Facts, Section

PANELS = "Panels and verdicts"
DECISION = "Rules and agreement"
FLAGS = "Flags"
REVIEW = "Review"
DESIGN = "Design of the labels"
FIGURES = "Figures"
GROUPS = (PANELS, DECISION, FLAGS, REVIEW, DESIGN, FIGURES)
GENERAL = frozenset({PANELS, REVIEW})
"""The groups of words that need no explanation wherever they stand on a screen."""


class GlossaryTerm(Struct, frozen=True):
    """A word with its sentence; ``names`` are other spellings under which screens show it."""

    word: str
    group: str
    text: str
    names: tuple[str, ...] = ()


def _terms(group: str, *rows: tuple[str, ...]) -> tuple[GlossaryTerm, ...]:
    return tuple(GlossaryTerm(word, group, text, tuple(names)) for word, text, *names in rows)


_FLAG_TEXTS = {
    Flag.ESCALATED: "the report asks for a person; where it never says, its ballots do",
    Flag.BIAS_WARNING: "the report warns of bias, or jurors differ and one is the generator's kin",
    Flag.TRIMMED_DISSENT: "the trim left out a juror who disagreed with the verdict",
    Flag.PIVOTAL: "a single vote would turn the decision",
    Flag.DISPUTE: "a disputed item: the whole panel goes to a person",
    Flag.NO_VERDICT: "neither pass nor fail came of it",
    Flag.SUSPICIOUS_TEXT: "a text speaks to its judge, or hides text",
    Flag.REGIME_SENSITIVE: "quorum, mean, trimmed mean and median do not all decide alike",
    Flag.MISMATCH: "what the report states does not follow from its own ballots or figures",
    Flag.DEGRADED: "jurors are missing, or too few for the trim",
    Flag.DERIVED_LOW: "agreement recomputed from the ballots is low",
    Flag.SPLIT: "votes on both sides",
    Flag.SAME_FAMILY: "a juror is of the generator's own model family",
    Flag.SINGLE_JUROR: "one ballot only, so no agreement to speak of",
    Flag.POSITION_FLIP: "a juror's vote follows the order of the pair",
}
FLAG_TERMS = {
    flag: GlossaryTerm(WORDS[flag], FLAGS, text, (flag.label.replace("_", " "),))
    for flag, text in _FLAG_TEXTS.items()
}
"""What each flag means in general; the jury pane gives the reason for one verdict."""

_DECISION = _terms(
    DECISION,
    ("quorum", "the share of seated jurors that must pass; a juror that fails withholds its vote"),
    ("threshold", "the score from which a ballot or a verdict passes"),
    ("mean", "the plain average of the jurors' scores; one extreme score moves it"),
    ("trimmed mean", "the average without the lowest and the highest scores, as many at each end"),
    ("median", "the middle score; it moves far only when half of the panel does"),
    ("weighted average", "the average of the scores, each counted by its juror's weight"),
    ("highest", "the best score decides: one juror is enough for a pass"),
    ("lowest", "the worst score decides: one juror is enough for a fail"),
    ("majority", "more than half of the seated jurors must pass; a tie is inconclusive"),
    (
        "unanimous",
        "all jurors who voted must agree; else nothing is decided, and a person is asked",
    ),
    ("supermajority", "a large share, two thirds by default, must give the same answer"),
    (
        "agreement",
        (
            "how close the jurors of one verdict are: the report's own measure where it "
            "states one, else r_WG"
        ),
    ),
    (
        "r_WG",
        (
            "agreement as 1 minus the variance of the scores over that of scores given at "
            "random: 1 is the same score, 0 no better than random, below 0 worse"
        ),
        "ours",
    ),
    (
        "band",
        (
            "agreement as a word: high from 0.8, medium from 0.667, else low; it belongs "
            "to the figure beside it"
        ),
    ),
    ("unit alpha", "Krippendorff's alpha of one verdict: 1 if all agree, else 0; it says no more"),
    (
        "closeness",
        "1 minus the variance of the scores over a sixteenth of the squared width of their scale",
    ),
    ("SD", "the standard deviation of the scores: how far they typically lie from their mean"),
    ("range", "the highest score minus the lowest"),
    ("margin", "how far the panel's score lies from the threshold, whichever side it is on"),
    ("dissent", "a vote on the losing side of the decision"),
)
_FIGURES = _terms(
    FIGURES,
    ("accuracy", "the share of labelled verdicts on which the panel and the label agree", "acc"),
    (
        "confidence",
        (
            "how sure a verdict is of itself, from 0 to 1; by default the score of a pass, "
            "and 1 minus the score of a fail"
        ),
    ),
    (
        "ECE",
        (
            "expected calibration error: how far confidence is from how often the panel is "
            "right, on average over ten bins; 0 is perfect, and few labels make it large "
            "by chance"
        ),
    ),
    (
        "Brier",
        (
            "the mean squared error of confidence: 0 is best, always saying 0.5 gives "
            "0.25, and sure but wrong costs most"
        ),
    ),
    (
        "gap",
        (
            "mean confidence minus accuracy: above 0 the panel is surer than it is right, "
            "below 0 less sure"
        ),
        "overconfident",
        "underconfident",
    ),
    (
        "corrected rate",
        (
            "the share that should pass: the pass rate corrected for how often labels say "
            "that the panel passes or fails wrongly (Rogan and Gladen)"
        ),
        "corrected",
    ),
    ("pass rate", "the share of the decided verdicts that the panel passes", "observed"),
    (
        "by strata",
        (
            "the share that should pass, from the labels of each stratum, each stratum "
            "with the weight of its size"
        ),
        "honest",
    ),
    ("interval", "a range made so that it holds the true value in about 95% of samples", "95%"),
    (
        "Wald",
        "an interval that takes sensitivity and specificity as known; better quote by strata",
    ),
    ("confusion", "counts of the panel's decisions against labels: tp, fn, tn and fp"),
    ("tp", "true positives: the panel passed, and should have"),
    ("fn", "false negatives: the panel failed what should pass"),
    ("tn", "true negatives: the panel failed, and should have"),
    ("fp", "false positives: the panel passed what should fail"),
    ("sensitivity", "of what should pass, the share that the panel passed"),
    ("specificity", "of what should fail, the share that the panel failed"),
    (
        "Youden's J",
        "sensitivity plus specificity minus 1: 0 is a coin, 1 never wrong, under 0.5 weak",
    ),
    (
        "AUROC",
        (
            "how often a right verdict is surer than a wrong one, one of each picked; "
            "chance gives 0.5"
        ),
    ),
    ("log-loss", "the mean of minus the logarithm of the chance given to what was true; 0 is best"),
    (
        "Spiegelhalter",
        "a test of whether confidence is off by more than chance: a p below 0.05 says that it is",
    ),
    (
        "kappa",
        "agreement with the labels beyond what chance would give: 1 is complete, 0 is chance",
        "Cohen's kappa",
    ),
    (
        "alpha",
        (
            "Krippendorff's alpha over a whole run: 1 is complete agreement of the jurors, "
            "0 what chance gives"
        ),
    ),
    (
        "offset",
        "a juror's score minus the mean of the others on the same verdict: above 0 is lenient",
    ),
    ("drift", "a juror's offset that changes over time by more than chance"),
    ("gate", "a limit that a figure must keep, checked in CI", "gates"),
    ("suite", "a file of gates"),
    ("policy", "another rule, tried on stored ballots (what-if)"),
    ("calibration", "how well stated confidence matches how often the panel is right"),
)
_DESIGN = _terms(
    DESIGN,
    ("design", "how the labels behind a figure were drawn, which is what the figure may speak for"),
    ("labelled", "every pass or fail label counted once: it describes the labelled verdicts alone"),
    (
        "population",
        "every label counted for the verdicts that it stands for: it describes the whole run",
    ),
    ("file", "the rows of a labels file, as they are"),
    ("ad hoc", "labels outside the draw, which count for nothing until the draw reaches them"),
    (
        "escalated-only",
        (
            "only flagged verdicts have labels: these are the hard ones, so the panel "
            "usually looks worse than it is"
        ),
    ),
    ("partial", "a stratum of the flagged verdicts has no label yet: not the run's figures"),
    ("weighted", "each label counts for the verdicts it stands for: an estimate for the run"),
    ("census", "every decided verdict has a label: the run's figures, not an estimate"),
    (
        "selected sample",
        (
            "the verdicts of a juror that was not always asked: which they are depended on the "
            "answers of others, so its figures describe them alone"
        ),
    ),
    (
        "stopped early",
        (
            "the panel had decided: no answer of a juror that was not asked could have turned it, "
            "and agreement, band and escalation are not defined"
        ),
    ),
    (
        "stratum",
        "a group of verdicts that is sampled by itself: flagged or not, by decision",
        "strata",
    ),
    ("draw", "the seeded random order of each stratum, stored once"),
    ("prefix", "the first verdicts of a stratum's draw that all have a label; only these count"),
    ("frame", "everything that labels were drawn from: the contents of a run, by stratum"),
    ("flagged", "escalated, warned of bias, disputed or without a decision: all of it is queued"),
    ("audit", "the unmarked sample of verdicts that nothing flagged, mixed into the queue"),
    ("weight", "how much a juror counts under a rule, or how many verdicts a label stands for"),
    (
        "ESS",
        "effective sample size: as many equal labels would be worth these unequal weights (Kish)",
    ),
    ("this run", "an interval for the verdicts of this run, which are finite in number"),
    ("such items", "an interval for the process behind the run: what further items would show"),
    ("blind", "labelled with the panel's answer hidden"),
)
_PANELS = _terms(
    PANELS,
    ("juror", "one judge on a panel, usually a language model with a prompt"),
    ("panel", "jurors that are asked, with the rule that decides"),
    ("jury", "the jurors' answers to one item"),
    ("ballot", "one juror's answer: a score, a vote or a label, with its reason"),
    (
        "seat",
        (
            "a juror's place on the panel; it identifies the ballot, because two jurors "
            "may share a name"
        ),
    ),
    ("verdict", "what a panel decided about one item: pass, fail, inconclusive, error, or nothing"),
    ("item", "what was judged, identified by a hash of its content"),
    ("case", "one response that waits for a panel, with its rubric"),
    (
        "strategy",
        "the rule that makes one decision of the ballots: quorum, median, trimmed mean and others",
    ),
    ("consensus", "the decision or label that a strategy gives"),
    ("trim", "the scores that a trimmed mean leaves out at each end"),
    ("regime", "what depends on a verdict: routine, irreversible or dispute; it selects the rule"),
    ("escalation", "a verdict marked for review by a person"),
    (
        "flag",
        "a fact about a verdict that a reviewer should see, such as a split or a bias warning",
    ),
    ("breach", "a place where a report contradicts its own rule"),
    (
        "family",
        "the vendor family of a model; a juror of the generator's own family may be lenient",
    ),
    ("provenance", "how a verdict came about: panel hash, rule, trim and times"),
)
_REVIEW = _terms(
    REVIEW,
    ("desk", "the SQLite file that holds runs, labels and history"),
    ("report", "a file of verdicts as a tool wrote it"),
    ("run", "one report, loaded into a desk"),
    ("reviewer", "the person who labels"),
    ("label", "a reviewer's ground truth for an item: pass, fail or can't tell (in files: unsure)"),
    ("re-run", "the same item put to jurors again, kept beside the first verdict"),
    ("journal", "the file that keeps every reply of a live run, so that nothing is paid for twice"),
)
TERMS = (*_PANELS, *_DECISION, *FLAG_TERMS.values(), *_REVIEW, *_DESIGN, *_FIGURES)


def find(word: str) -> GlossaryTerm:
    """Return the term with this word or name, whatever its case; raise NotFoundError with hints."""
    names = _by_name()
    if (found := names.get(_folded(word))) is not None:
        return found
    near = [name for name in names if _folded(word) in name]
    near += difflib.get_close_matches(_folded(word), names, n=5)
    words = list(dict.fromkeys(names[name].word for name in near))[:5]
    hint = f"Near: {', '.join(words)}." if words else "See: reviewdesk explain."
    raise NotFoundError(f"no word {word!r} is explained", hint)


def mentioned(texts: Iterable[str]) -> tuple[GlossaryTerm, ...]:
    """Return the terms that texts name, in their order; each is named once."""
    found = (_by_name()[_folded(hit)] for text in texts for hit in _named(text))
    return tuple(dict.fromkeys(term for term in found if term.group not in GENERAL))


def of_verdict(notes: Iterable[FlagNote], rule: str | None) -> tuple[GlossaryTerm, ...]:
    """Return the terms of one verdict: its flags, its rule, and the figures of every jury."""
    flags = {note.flag for note in notes}
    names = [(rule or "").replace("_", " ")]
    names += ["threshold", "agreement", "band", "r_WG", "dissent", "margin", "closeness", "SD"]
    terms = [FLAG_TERMS[flag] for flag in WORDS if flag in flags]
    return (*terms, *(_by_name()[_folded(name)] for name in names if _folded(name) in _by_name()))


def _named(text: str) -> Iterator[str]:
    return (hit[0] for hit in _pattern().finditer(text))


@cache
def _by_name() -> dict[str, GlossaryTerm]:
    return {_folded(name): term for term in TERMS for name in (term.word, *term.names)}


@cache
def _pattern() -> re.Pattern[str]:
    names = (name for term in TERMS for name in (term.word, *term.names))
    longest_first = sorted(names, key=len, reverse=True)
    words = "|".join(re.escape(name) for name in longest_first)
    return re.compile(rf"(?<![\w-])(?:{words})(?![\w-])", re.IGNORECASE)


def _folded(word: str) -> str:
    return " ".join(word.casefold().replace("_", " ").split())


def sections() -> tuple[Section, ...]:
    """Return all terms with their sentences, by group."""
    column = max(len(term.word) for term in TERMS) + 2
    return tuple(
        Section(
            group,
            (Facts.of(*((t.word, t.text) for t in TERMS if t.group == group), column=column),),
        )
        for group in GROUPS
    )
