"""Map a sample of an Inspect log to canonical verdicts, one for each jury.

Each scorer that is a panel forms a separate jury. The other scorers that ask a model form one jury
together. Scorers that ask no model are checks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from reviewdesk.domain.verdict import Decision, Status
from reviewdesk.reports.inspectai.scores import (
    Ballot,
    BallotContext,
    EditedScore,
    GradeReader,
    human,
    scores_of,
    split_edits,
)
from reviewdesk.reports.inspectai.transcript import LogHeader, Sample, Texts, whole
from reviewdesk.reports.mapping import values
from reviewdesk.reports.mapping.foreign import Models, Remarks, Scales, VerdictNames, unused
from reviewdesk.reports.mapping.secrets import SecretRemover, named_secrets
from reviewdesk.reports.mapping.values import filled, listed, record
from reviewdesk.reports.options import ReadOptions
from reviewdesk.reports.wording import JsonObject

Scores = dict[str, JsonObject]

_ERROR = {"decision": Decision.ERROR.value}
_FAILED = frozenset([Status.ERROR, Status.TIMEOUT, Status.PARSE_FAIL])
_NO_RULE = "several scorers are one jury, for which the log states no decision"
_NO_LINE = "a score decides nothing by itself, and the log has no pass line"
_NO_JURY = "a sample that no model graded has checks and no ballots"


class Jury(Struct, frozen=True):
    """The scorers of one jury, and its result as fields of a verdict."""

    scorers: tuple[str, ...]
    outcome: JsonObject
    panel: str = ""
    """The scorer that is the panel; empty for the jury of the other scorers."""


def juries_of(broken: Any, given: Scores, bench: BallotContext) -> list[Jury]:
    """Return the juries behind a sample's scores, at least one.

    ``broken`` is the sample's error, or None. ``given`` has the scores by name.
    """
    lost = bench.transcript.failed_scorer if broken is not None else None
    if broken is not None and lost is None:
        if given:
            bench.remarks.count("the scores of a sample that failed itself are left out")
        message = filled(record(broken).get("message"))
        meta = {"error": message} if message else None
        return [Jury(tuple(bench.run.scorers), {**_ERROR, "jurors": [], "meta": meta})]
    ballots = {name: bench.ballots(name, score) for name, score in given.items()}
    panels = [name for name in given if bench.is_panel(name, given[name])]
    code = [
        name
        for name, of_name in ballots.items()
        if name not in panels and of_name and all(one.get("kind") == "code" for one in of_name)
    ]
    others = tuple(name for name in given if name not in panels and name not in code)
    found = [
        Jury((name,), _jury_result((name,), given, ballots, bench), panel=name) for name in panels
    ]
    if lost is not None:
        message = filled(record(broken).get("message")) or "the scorer failed"
        ballot = bench.failed(lost, message)
        if bench.seats(lost) > 1:
            found.append(Jury((lost,), {**_ERROR, "jurors": [ballot]}, panel=lost))
        else:
            jurors = [*_ballots_of(others, ballots), ballot]
            found.append(Jury((*others, lost, *code), {**_ERROR, "jurors": jurors}))
            others = ()
    if others or not found:
        names = others or tuple(code)
        outcome = _jury_result(names, given, ballots, bench) if names else {}
        if not others:
            bench.remarks.count(_NO_JURY if code else "a sample without a score has no ballots")
            outcome["jurors"] = []
        found.append(Jury((*others, *code), outcome))
    checks = [_check(ballot) for name in code for ballot in ballots[name]]
    return [
        Jury(one.scorers, {**one.outcome, "checks": checks or None}, one.panel) for one in found
    ]


def _jury_result(
    names: tuple[str, ...], given: Scores, ballots: dict[str, list[Ballot]], bench: BallotContext
) -> JsonObject:
    """Return the ballots of a jury, with the decision and score that the log states.

    If the jury has one scorer, that scorer's value is the decision; several scorers state none.
    A missing consensus (null or NaN) is escalated for review. Its decision is inconclusive,
    ``error`` if every juror failed, or none if every ballot is unreadable.
    """
    jurors = _ballots_of(names, ballots)
    values_of = {name: given[name].get("value") for name in names}
    found: JsonObject = {"jurors": jurors}
    alone = names[0] if len(names) == 1 else None
    unscored = [
        name
        for name, value in values_of.items()
        if value is None and "value" in given[name] and (alone or len(ballots[name]) > 1)
    ]
    if unscored:
        found["escalate_for_review"] = True
        found["escalation_reasons"] = [f"no consensus: {', '.join(unscored)} gave no value"]
    failed = bool(jurors) and all(ballot.get("status") in _FAILED for ballot in jurors)
    if alone is None:
        bench.remarks.count(_NO_RULE)
        return {**found, **_ERROR} if failed else found
    value = values_of[alone]
    if value is None:
        if failed:
            return {**found, **_ERROR}
        unknown = all(ballot.get("status") == Status.UNKNOWN for ballot in jurors)
        return {**found, "decision": None if unknown else Decision.INCONCLUSIVE.value}
    if isinstance(value, dict | list):
        bench.remarks.count(_NO_RULE)
        return found
    single = len(jurors) == 1 and jurors[0]["id"] == alone
    found |= bench.grader.consensus(jurors[0] if single else bench.grader.ballot(value, alone))
    if "decision" not in found and "label" not in jurors[0]:
        bench.remarks.count(_NO_LINE)
    return found


def _ballots_of(names: tuple[str, ...], ballots: dict[str, list[Ballot]]) -> list[Ballot]:
    return [ballot for name in names for ballot in ballots[name]]


def _check(ballot: Ballot) -> JsonObject:
    """Return the check of a scorer without a model. A number decides only if it is 0 or 1."""
    passed = ballot.get("pass")
    number = values.first(ballot, ("score", "raw_score"))
    if passed is None and number in (0, 1):
        passed = number == 1
    reasons = [f"score {number:g}"] if passed is None and number is not None else []
    reasons += filter(None, (ballot.get("reason"), record(ballot.get("error")).get("message")))
    return values.without_nulls(
        {"name": ballot["id"], "pass": passed, "reason": "\n".join(reasons) or None}, "pass"
    )


_ID_LENGTH = 480
"""An id has at most 500 characters; the rest leaves room for a counter."""


class SampleMapper:
    """Maps the samples of one log; remembers the ids it gave and the remarks to show."""

    def __init__(self, run: LogHeader, options: ReadOptions, scales: Scales) -> None:
        """Start with no ids given; ``scales`` already knows all scores of the log."""
        self.remarks = Remarks()
        self.secrets = SecretRemover(named_secrets(run.spec))
        self.models = Models(options)
        self._run = run
        self._grader = GradeReader(options, self.remarks, scales)
        self._ids: dict[str, int] = {}

    def verdicts(self, sample: Sample, pointer: str) -> Iterator[JsonObject]:
        """Yield the canonical verdicts of a sample; ``pointer`` is its place in the log."""
        keys = sample.keys
        texts = Texts(sample.attachments)
        edits = {name: split_edits(score) for name, score in scores_of(keys).items()}
        bench = BallotContext(
            self._run, self._grader, self.remarks, self.models, sample.transcript, texts
        )
        given = {name: one.original for name, one in edits.items() if one.original is not None}
        juries = juries_of(keys.get("error"), given, bench)
        name, case = self._case(keys)
        sample_texts = self._sample_texts(keys, texts)
        run_id = filled(self._run.spec.get("run_id"))
        for jury in juries:
            several = len(juries) > 1 and jury.panel
            known = (self._run.scorers.get(scorer) for scorer in jury.scorers)
            rubrics = {one.rubric for one in known if one is not None and one.rubric}
            people = human(_edits(jury, juries, edits), self._grader, self.remarks, texts)
            meta = {**(jury.outcome.get("meta") or {}), **(people["meta"] or {})}
            body = {
                "id": unused(f"{name}/{jury.panel}"[:_ID_LENGTH] if several else name, self._ids),
                "case": case,
                **sample_texts,
                "rubric": rubrics.pop() if len(rubrics) == 1 else None,
                **jury.outcome,
                "human": people["human"],
                "provenance": values.without_nulls({"pointer": pointer, "run_id": run_id}),
                "meta": meta or None,
            }
            seats = enumerate(body["jurors"], 1)
            names = [filled(ballot["id"]) or f"juror {seat}" for seat, ballot in seats]
            body["jurors"] = [
                values.without_nulls({**ballot, "id": juror_id}, "pass")
                for ballot, juror_id in zip(body["jurors"], VerdictNames.jurors(names), strict=True)
            ]
            yield values.without_nulls({key: value for key, value in body.items() if value != {}})

    def _case(self, keys: JsonObject) -> tuple[str, JsonObject]:
        stated = keys.get("id")
        plain = isinstance(stated, str | int) and not isinstance(stated, bool)
        test = (str(stated) if plain else "") or "sample"
        epoch = whole(keys.get("epoch"))
        name = test[:_ID_LENGTH]
        if epoch is not None and (epoch > 1 or self._run.epochs > 1):
            name = f"{name}/epoch {epoch}"
        invalid = isinstance(keys.get("invalidation"), dict)
        if invalid:
            self.remarks.count('a sample that the log declares invalid has the tag "invalidated"')
        case = {
            "test": test,
            "suite": filled(self._run.spec.get("task")),
            "epoch": epoch,
            "tags": ["invalidated"] if invalid else None,
        }
        return name, values.without_nulls(case)

    def _sample_texts(self, keys: JsonObject, texts: Texts) -> JsonObject:
        output = record(keys.get("output"))
        if None in (keys.get("input", ""), output.get("completion", "")):
            self.remarks.count("an input or output too long to be held is left out")
        question = texts.messages(keys.get("input"))
        choices = [choice for choice in listed(keys.get("choices")) if isinstance(choice, str)]
        if question is not None and choices:
            question += "\n\n" + "\n".join(f"- {texts.plain(choice)}" for choice in choices)
        return {
            "input": question,
            "output": texts.output(keys.get("output")),
            "reference": texts.reference(keys.get("target")),
            "generator": {"model": self._run.model} if self._run.model else None,
        }


def _edits(jury: Jury, juries: list[Jury], edits: dict[str, EditedScore]) -> dict[str, EditedScore]:
    """Return the edited scores of a jury, and the edited scores that belong to no jury.

    The latter go to the jury that is not a panel or, if all are panels, to every jury.
    """
    named = {name for one in juries for name in one.scorers}
    takes_more = not jury.panel or all(one.panel for one in juries)
    return {
        name: one
        for name, one in edits.items()
        if name in jury.scorers or (takes_more and name not in named)
    }
