"""A sample of an Inspect log as a canonical verdict."""

from __future__ import annotations

from typing import Any

from reviewdesk.domain.verdict import Decision
from reviewdesk.reports import values
from reviewdesk.reports.ballots import unused
from reviewdesk.reports.foreign import Models
from reviewdesk.reports.inspectai.ballots import Ballot, Bench
from reviewdesk.reports.inspectai.config import Run, listed, record, text, whole
from reviewdesk.reports.inspectai.edits import edited, human
from reviewdesk.reports.inspectai.grades import Grader
from reviewdesk.reports.inspectai.sample import Sample
from reviewdesk.reports.inspectai.texts import Texts
from reviewdesk.reports.options import ReadOptions
from reviewdesk.reports.rawscores import Scales
from reviewdesk.reports.remarks import Remarks
from reviewdesk.reports.secrets import Scrubber, named_secrets

_ID_LENGTH = 480
"""Room for a counter behind it: an id has at most 500 characters."""
_JUROR_LENGTH = 190
_FAILED = frozenset(["error", "timeout", "parse_fail"])
_NO_RULE = "several scorers are one jury, for which the log states no decision"
_NO_LINE = "a score decides nothing by itself, and the log has no pass line"


class SampleMapper:
    """Maps the samples of one log; remembers the ids given and what is worth a note."""

    def __init__(self, run: Run, options: ReadOptions, scales: Scales) -> None:
        """Start with no id taken; ``scales`` has seen all scores of the log."""
        self.remarks = Remarks()
        self.secrets = Scrubber(named_secrets(run.spec))
        self.models = Models(options)
        self._run, self._options = run, options
        self._grader = Grader(options, self.remarks, scales)
        self._ids: dict[str, int] = {}

    def verdict(self, sample: Sample, pointer: str) -> dict[str, Any]:
        """The canonical verdict of a sample; ``pointer`` says where it stands in the log."""
        keys, texts = sample.keys, Texts(sample.attachments)
        edits = {name: edited(score) for name, score in _scores(keys).items()}
        bench = Bench(
            self._run,
            self._options,
            self._grader,
            self.remarks,
            self.models,
            sample.transcript,
            texts,
        )
        given = {name: one.original for name, one in edits.items() if one.original is not None}
        body = {
            **self._case(keys),
            **self._said(keys, texts),
            **self._outcome(sample, given, bench),
            "human": human(
                [one.last for one in edits.values() if one.last], self._grader, self.remarks
            ),
            "provenance": {"pointer": pointer, "run_id": text(self._run.spec.get("run_id"))},
        }
        _name(body["jurors"])
        return values.said({key: value for key, value in body.items() if value != {}})

    def _case(self, keys: dict[str, Any]) -> dict[str, Any]:
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
            "suite": text(self._run.spec.get("task")),
            "epoch": epoch,
            "tags": ["invalidated"] if invalid else None,
        }
        return {"id": unused(name, self._ids), "case": values.said(case)}

    def _said(self, keys: dict[str, Any], texts: Texts) -> dict[str, Any]:
        """What was asked, answered and expected."""
        output = record(keys.get("output"))
        if None in (keys.get("input", ""), output.get("completion", "")):
            self.remarks.count("an input or output too long to be held is left out")
        asked = texts.messages(keys.get("input"))
        choices = [choice for choice in listed(keys.get("choices")) if isinstance(choice, str)]
        if asked is not None and choices:
            asked += "\n\n" + "\n".join(f"- {texts.plain(choice)}" for choice in choices)
        rubrics = {one.rubric for one in self._run.scorers.values() if one.rubric}
        return {
            "input": asked,
            "output": texts.output(keys.get("output")),
            "reference": texts.reference(keys.get("target")),
            "rubric": rubrics.pop() if len(rubrics) == 1 else None,
            "generator": {"model": self._run.model} if self._run.model else None,
        }

    def _outcome(
        self, sample: Sample, scores: dict[str, dict[str, Any]], bench: Bench
    ) -> dict[str, Any]:
        """The ballots, and the decision that the log states."""
        broken = sample.keys.get("error")
        scorer = sample.transcript.failed_scorer
        if broken is not None and scorer is None:
            if scores:
                self.remarks.count("the scores of a sample that failed itself are left out")
            return {"decision": "error", "jurors": [], **_because(broken)}
        panels = {name: bench.ballots(name, score) for name, score in scores.items()}
        jurors = [ballot for ballots in panels.values() for ballot in ballots]
        if broken is not None and scorer is not None:
            message = text(record(broken).get("message")) or "the scorer failed"
            return {"decision": "error", "jurors": [*jurors, bench.failed(scorer, message)]}
        if not jurors:
            self.remarks.count("a sample without a score has no ballots")
        return {"jurors": jurors, **self._stated(scores, panels)}

    def _stated(
        self, scores: dict[str, dict[str, Any]], panels: dict[str, list[Ballot]]
    ) -> dict[str, Any]:
        """What the log makes of the ballots.

        A scorer that stands alone speaks for its jury; several state no decision. A consensus of
        NaN is inconclusive, unless no juror answered at all, and asks for review either way.
        """
        unscored = [
            name
            for name, score in scores.items()
            if score.get("value") is None and (len(scores) == 1 or len(panels[name]) > 1)
        ]
        found: dict[str, Any] = {}
        if unscored:
            names = ", ".join(unscored)
            found["escalate_for_review"] = True
            found["escalation_reasons"] = [f"no consensus: {names} gave no value"]
        ballots = [ballot for own in panels.values() for ballot in own]
        if ballots and all(ballot.get("status") in _FAILED for ballot in ballots):
            return {**found, "decision": Decision.ERROR.value}
        if len(scores) != 1:
            if ballots:
                self.remarks.count(_NO_RULE)
            return found
        ((name, score),) = scores.items()
        value = score.get("value")
        if value is None:
            return {**found, "decision": Decision.INCONCLUSIVE.value}
        if isinstance(value, dict | list):
            self.remarks.count(_NO_RULE)
            return found
        own = panels[name]
        alone = len(own) == 1 and own[0]["id"] == name
        found |= self._grader.consensus(own[0] if alone else self._grader.ballot(value, name))
        if "decision" not in found and "label" not in own[0]:
            self.remarks.count(_NO_LINE)
        return found


def _scores(keys: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The scores of a sample that are objects; others say nothing."""
    return {
        name: score
        for name, score in record(keys.get("scores")).items()
        if isinstance(score, dict) and "value" in score
    }


def _because(broken: Any) -> dict[str, Any]:
    message = text(record(broken).get("message"))
    return {"meta": {"error": message}} if message else {}


def _name(jurors: list[Ballot]) -> None:
    """Give every ballot an id of its own, and drop what it does not say."""
    taken: dict[str, int] = {}
    for seat, ballot in enumerate(jurors, 1):
        name = ballot["id"] if ballot["id"].strip() else f"juror {seat}"
        ballot["id"] = unused(name[:_JUROR_LENGTH], taken)
        for key in [key for key, value in ballot.items() if value is None and key != "pass"]:
            del ballot[key]
