"""Map a sample of an Inspect log to canonical verdicts, one for each jury."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reviewdesk.reports.inspectai.ballots import Ballot, BallotContext
from reviewdesk.reports.inspectai.config import LogHeader, whole
from reviewdesk.reports.inspectai.edits import EditedScore, human, scores_of, split_edits
from reviewdesk.reports.inspectai.grades import GradeReader
from reviewdesk.reports.inspectai.juries import Jury, juries_of
from reviewdesk.reports.inspectai.sample import Sample
from reviewdesk.reports.inspectai.texts import Texts
from reviewdesk.reports.mapping import values
from reviewdesk.reports.mapping.foreign import Models, Remarks, VerdictNames, text, unused
from reviewdesk.reports.mapping.raw_scores import Scales
from reviewdesk.reports.mapping.secrets import SecretRemover, named_secrets
from reviewdesk.reports.mapping.values import listed, record
from reviewdesk.reports.options import ReadOptions

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

    def count(self, sample: Sample) -> int:
        """Count the verdicts that a sample gives."""
        texts = Texts(sample.attachments)
        edits = {name: split_edits(score) for name, score in scores_of(sample.keys).items()}
        return len(self._juries(sample, edits, texts))

    def verdicts(self, sample: Sample, pointer: str) -> Iterator[dict[str, Any]]:
        """Yield the canonical verdicts of a sample; ``pointer`` is its place in the log."""
        keys, texts = sample.keys, Texts(sample.attachments)
        edits = {name: split_edits(score) for name, score in scores_of(keys).items()}
        juries = self._juries(sample, edits, texts)
        name, case = self._case(keys)
        sample_texts = self._sample_texts(keys, texts)
        for jury in juries:
            several = len(juries) > 1 and jury.panel
            people = human(_edits(jury, juries, edits), self._grader, self.remarks, texts)
            meta = {**(jury.outcome.get("meta") or {}), **(people["meta"] or {})}
            body = {
                "id": unused(f"{name}/{jury.panel}"[:_ID_LENGTH] if several else name, self._ids),
                "case": case,
                **sample_texts,
                "rubric": self._rubric(jury),
                **jury.outcome,
                "human": people["human"],
                "provenance": {"pointer": pointer, "run_id": text(self._run.spec.get("run_id"))},
                "meta": meta or None,
            }
            _name_jurors(body["jurors"])
            yield values.without_nulls({key: value for key, value in body.items() if value != {}})

    def _juries(self, sample: Sample, edits: dict[str, EditedScore], texts: Texts) -> list[Jury]:
        bench = BallotContext(
            self._run, self._grader, self.remarks, self.models, sample.transcript, texts
        )
        given = {name: one.original for name, one in edits.items() if one.original is not None}
        return juries_of(sample.keys.get("error"), given, bench)

    def _rubric(self, jury: Jury) -> str | None:
        known = (self._run.scorers.get(name) for name in jury.scorers)
        rubrics = {one.rubric for one in known if one is not None and one.rubric}
        return rubrics.pop() if len(rubrics) == 1 else None

    def _case(self, keys: dict[str, Any]) -> tuple[str, dict[str, Any]]:
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
        return name, values.without_nulls(case)

    def _sample_texts(self, keys: dict[str, Any], texts: Texts) -> dict[str, Any]:
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


def _name_jurors(jurors: list[Ballot]) -> None:
    names = [text(ballot["id"]) or f"juror {seat}" for seat, ballot in enumerate(jurors, 1)]
    for ballot, juror_id in zip(jurors, VerdictNames.jurors(names), strict=True):
        ballot["id"] = juror_id
        for key in [key for key, value in ballot.items() if value is None and key != "pass"]:
            del ballot[key]
