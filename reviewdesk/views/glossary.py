"""The words and signs of the screens, each with a sentence for the screen, shell and docs."""

import difflib
import re
from collections.abc import Iterable
from functools import cache

from msgspec import Struct
from msgspec.structs import asdict

from reviewdesk.domain.assessment.result import MEANINGS, SHORT, WORDS, Flag, FlagNote
from reviewdesk.domain.stats import methods
from reviewdesk.domain.stats.methods import FigureMethod
from reviewdesk.errors import NotFoundError
from reviewdesk.views.document import Facts, Flow, Section

PANELS = "Panels and verdicts"
DECISION = "Rules and agreement"
FLAGS = "Flags"
REVIEW = "Review"
DESIGN = "What labels describe"
FIGURES = "Figures"
GROUPS = (PANELS, DECISION, FLAGS, REVIEW, DESIGN, FIGURES)
GENERAL = frozenset({PANELS, REVIEW})
"""The groups of words that need no explanation on a screen."""


class GlossaryTerm(Struct, frozen=True):
    """A word with its sentence; ``names`` are its synonyms and short forms."""

    word: str
    group: str
    text: str
    names: tuple[str, ...] = ()


def _terms(group: str, *rows: tuple[str, ...]) -> tuple[GlossaryTerm, ...]:
    return tuple(GlossaryTerm(word, group, text, tuple(names)) for word, text, *names in rows)


_OTHERS = {"rule", "trim"}
"""Short forms of flags that mean something else by themselves."""


def _flag_names(flag: Flag) -> tuple[str, ...]:
    """Return the other names of a flag: its short form, and its name in filters and JSON."""
    short = SHORT[flag]
    every = dict.fromkeys((short, short.rstrip("!"), flag.label.replace("_", " ")))
    return tuple(name for name in every if name not in _OTHERS | {WORDS[flag]})


FLAG_TERMS = {
    flag: GlossaryTerm(WORDS[flag], FLAGS, text, _flag_names(flag))
    for flag, text in MEANINGS.items()
}
"""What each flag means in general; the jury pane gives the reason for one verdict."""

_PANELS = _terms(
    PANELS,
    ("juror", "one judge on a panel, usually a language model with a prompt", "jurors"),
    ("panel", "jurors that are asked, with the rule that decides", "jury"),
    ("ballot", "one juror's answer: a score, a vote or a label, with its reason", "vote"),
    ("verdict", "what a panel decided about one item: pass, fail, no decision, or an error"),
    ("item", "what was judged, identified by a hash of its content"),
    ("rule", "how ballots become one decision: quorum, median, trimmed mean, ...", "strategy"),
    ("trim", "the scores left out at each end of a mean", "trimmed", "trimmed low", "trimmed high"),
    ("flag", "a fact about a verdict that a reviewer should see", "flags"),
    ("re-run", "the same item put to jurors again, kept beside the first verdict"),
)
_DECISION = _terms(
    DECISION,
    ("quorum", "the share of seated jurors that must pass; one that failed did not pass"),
    ("threshold", "the score from which a ballot or a verdict passes", "needs"),
    ("mean", "the plain average of the jurors' scores; one extreme score moves it"),
    ("trimmed mean", "the average without the lowest and the highest scores"),
    ("median", "the middle score; it moves far only when half of the panel does"),
    ("weighted average", "the average of the scores, each counted by its juror's weight"),
    ("highest or lowest", "one score decides: the best, or the worst", "highest", "lowest"),
    ("majority", "more than half of the seated jurors must pass; a tie is no decision"),
    ("unanimous", "all jurors who voted agree"),
    ("supermajority", "a large share, two thirds by default, must give the same answer"),
    (
        "agreement",
        "how close the jurors of one verdict are, from 0 to 1: the report's own measure, else r_WG",
    ),
    ("r_WG", "1 minus the variance of the scores over that of scores given at random"),
    ("band", "agreement as a word: high from 0.8, medium from 0.667, else low"),
    ("closeness", "1 minus 16 times the variance of the scores, on a scale from 0 to 1"),
    ("SD", "the standard deviation of the scores: how far they typically lie from their mean"),
    ("range", "the highest score minus the lowest"),
    ("margin", "how far the panel's score lies from the threshold"),
    ("dissent", "a vote on the losing side of the decision"),
)
_REVIEW = _terms(
    REVIEW,
    ("desk", "the SQLite file that holds runs, labels and history"),
    ("run", "one report, loaded into a desk", "report"),
    ("label", "what a person says an item deserved: pass, fail or can't tell", "unsure"),
    ("blind", "with the panel's answer hidden until the item has a label"),
    ("flagged", "escalated, warned of bias, disputed or undecided: all of it is in the queue"),
    ("random check", "the sample of verdicts that nothing flagged, mixed into the queue", "audit"),
    ("group", "verdicts that are sampled by themselves: flagged or not, by decision", "groups",
     "stratum", "strata"),
)  # fmt: skip
_DESIGN = _terms(
    DESIGN,
    ("in order", "labels from the start of a group's random order without a gap; only these count",
     "prefix", "draw"),
    ("out of order", "labels that the draw has not reached: they describe themselves only",
     "ad hoc"),
    ("only escalated verdicts are labelled", "hard ones: the panel looks worse than it is",
     "escalated-only"),
    ("one group is not labelled", "the labels do not describe the run", "partial"),
    ("weighted by group", "each label counts for the verdicts it stands for: it describes the run",
     "weighted", "by strata", "population"),
    ("every decided verdict is labelled", "the run's figures, not an estimate", "census"),
    ("not always asked", "of a juror: its figures describe the verdicts that needed it",
     "selected sample", "stopped early"),
    ("effective labels", "as many equal labels would be worth these unequal weights (Kish)",
     "ESS"),
    ("new items", "of an interval: what further items would show, not this run alone",
     "such items", "this run"),
)  # fmt: skip
_FIGURES = _terms(
    FIGURES,
    ("accuracy", "the share of labelled verdicts on which the panel and the label agree", "acc"),
    ("pass rate", "the share of the decided verdicts that the panel passes", "observed"),
    ("should pass", "the share that deserves to pass, by the labels", "honest"),
    ("corrected rate", "the pass rate corrected for the panel's errors (Rogan and Gladen)",
     "corrected", "Wald"),
    ("false passes", "of what should fail, the share passed; specificity is the share failed",
     "specificity", "spec.", "spec", "fp"),
    ("false fails", "of what should pass, the share failed; sensitivity is the share passed",
     "sensitivity", "sens.", "sens", "fn"),
    ("Youden's J", "sensitivity plus specificity minus 1: 0 is a coin, 1 never wrong"),
    ("confidence", "how sure a verdict is: the score of a pass, and 1 minus the score of a fail"),
    ("gap", "mean confidence minus accuracy: above 0 the panel is surer than it is right",
     "overconfident", "underconfident"),
    ("Brier", "the mean squared error of confidence: 0 is best, always saying 0.5 gives 0.25"),
    ("ECE", "distance of confidence from accuracy over ten bins; chance: what few labels give",
     "chance"),
    ("interval", "a range that holds the true value in about 95% of samples; exact if all is known",
     "95%", "exact"),
    ("AUROC", "how often a right verdict is surer than a wrong one; chance gives 0.5"),
    ("log-loss", "minus the logarithm of the chance given to what was true, on average; 0 is best"),
    ("Spiegelhalter", "a test of confidence: a p below 0.05 says that it is off beyond chance"),
    ("kappa", "agreement beyond what chance would give: 1 is complete, 0 is chance",
     "Cohen's kappa"),
    ("alpha", "Krippendorff's alpha: agreement over a whole run; 1 is complete, 0 is chance"),
    ("offset", "a juror's score minus the mean of the others: above 0 is lenient"),
    ("drift", "an offset that changes over time by more than chance", "CUSUM"),
    ("flips", "passes that would become fails or the reverse under another rule"),
    ("holdout", "the half of the labels that tests a change; the tuning half may be looked at",
     "tuning half", "tuning", "near-copies"),
    ("gate", "a limit that a figure must keep, checked in CI; a suite is a file of gates",
     "gates", "suite"),
)  # fmt: skip

TERMS = (*_PANELS, *_DECISION, *FLAG_TERMS.values(), *_REVIEW, *_DESIGN, *_FIGURES)
SIGNS = {
    "▸": "the current line of the queue",
    "▶": "the pane that has the keys",
    "*": "marked by you; behind a model family: not one of the common ones",
    "?": "as a model family: not known; as a label: can't tell",
    "▹ ▿": "a section of the jury that is folded, or open",
    "+": "selected: the next label is given to all that are",
    "¶": "a note is there; while blind, one of your own",
    "~": "behind a label: waits until another process lets it be saved",
    "◆": "asks for a person; of a juror: disagreed with the verdict and was trimmed",
    "≠": "a rule that decides otherwise, or a vote against its score",
    "●": "a juror's score that counted",
    "○": "a juror's score that was trimmed",
    "2..9": "that many scores in one place",
    "│ ▲": "the threshold",
    "✓": "a check that passed; something saved",
    "✗": "a check that failed",
    "–": "a check without a result",
    "⚠": "invisible characters in the text",
    "×": "that many verdicts share this content and its label",
    "…": "cut to fit",
    "+2": "two more flags, for which the line has no room",
    "↵": "the enter key, on a narrow screen",
}
"""The signs of all panes."""
_LABEL_MARKS = {
    "p f ? ! ·": "in the queue, the label: pass, fail, can't tell, reviewers differ, none",
    "z": "in the queue: deferred",
    "@": "in the queue: somebody else has this item open",
}


def find(word: str) -> GlossaryTerm:
    """Return the term with this word or name, in any case; raise NotFoundError with hints."""
    names = _by_name()
    if (found := names.get(_folded(word))) is not None:
        return found
    if (method := method_of(word)) is not None:
        return GlossaryTerm(method.figure, "Methods", method.estimates, method.names)
    for signs, text in (SIGNS | _LABEL_MARKS).items():
        if word in {signs, *signs.split()}:
            return GlossaryTerm(word, "Signs", text)
    near = [name for name in names if _folded(word) in name]
    figures = [one.figure for one in methods.FIGURES]
    near += difflib.get_close_matches(_folded(word), [*names, *figures], n=5)
    near += [name for name in figures if _folded(word) in _folded(name)]
    words = list(dict.fromkeys(names[name].word if name in names else name for name in near))[:5]
    hint = f"Near: {', '.join(words)}." if words else "See: reviewdesk explain."
    raise NotFoundError(f"no word {word!r} is explained", hint)


def method_of(word: str) -> FigureMethod | None:
    """Return how the figure with this word or name is computed; ``None`` for any other word."""
    term = _by_name().get(_folded(word))
    names = {_folded(name): one for one in methods.FIGURES for name in (one.figure, *one.names)}
    return names.get(_folded(word if term is None else term.word))


def method_section(method: FigureMethod) -> Section:
    return Section("Method", (Facts.of(*method.rows, column=14),))


def mentioned(texts: Iterable[str]) -> tuple[GlossaryTerm, ...]:
    """Return the terms that occur in texts, in order and without repetition."""
    names = (hit[0] for text in texts for hit in _pattern().finditer(text))
    found = (_by_name()[_folded(name)] for name in names)
    return tuple(dict.fromkeys(term for term in found if term.group not in GENERAL))


def of_verdict(
    notes: Iterable[FlagNote], rule: str | None, *, numbers: bool = False
) -> tuple[GlossaryTerm, ...]:
    """Return the terms of one verdict: its flags and its rule, with those of ``numbers`` last."""
    flags = {note.flag for note in notes}
    names = [(rule or "").replace("_", " ")]
    names += ["threshold", "agreement", "dissent"]
    names += ["band", "margin", "closeness", "SD", "range"] * numbers
    terms = [FLAG_TERMS[flag] for flag in WORDS if flag in flags]
    return (*terms, *(_by_name()[_folded(name)] for name in names if _folded(name) in _by_name()))


@cache
def _by_name() -> dict[str, GlossaryTerm]:
    return {_folded(name): term for term in TERMS for name in (term.word, *term.names)}


@cache
def _pattern() -> re.Pattern[str]:
    short = {*SHORT.values()}
    names = (name for term in TERMS for name in (term.word, *term.names) if name not in short)
    longest_first = sorted(names, key=len, reverse=True)
    words = "|".join(re.escape(name) for name in longest_first)
    return re.compile(rf"(?<![\w-])(?:{words})(?![\w-])", re.IGNORECASE)


def _folded(word: str) -> str:
    return " ".join(word.casefold().replace("_", " ").split())


def sections() -> tuple[Section, ...]:
    """Return all terms with their sentences, by group."""
    column = max(len(term.word) for term in TERMS) + 2
    terms = (
        Section(
            group,
            (Facts.of(*((t.word, t.text) for t in TERMS if t.group == group), column=column),),
        )
        for group in GROUPS
    )
    figures = Flow(tuple(one.figure for one in methods.FIGURES))
    return (*terms, Section("Methods", (figures,), "explain FIGURE"))


def shape(term: GlossaryTerm) -> dict[str, object]:
    """Return a term as JSON, with the method of a figure."""
    made: dict[str, object] = {"word": term.word, "group": term.group, "meaning": term.text}
    method = method_of(term.word)
    return made | {"method": method and asdict(method)}
