"""The reader of cross-judge: EnsembleVerdict, and EnsembleResult of its older interface.

The label map turns a label into a vote, and the critic's confidence gives the score. The files name
no model, so whether a critic belongs to the generator's family stays unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.canonical.writer import FORMAT_NAME
from reviewdesk.reports.dialect import Dialect, FirstLook
from reviewdesk.reports.mapping import foreign, values
from reviewdesk.reports.mapping.ballots import failure, understood, unread_keys
from reviewdesk.reports.mapping.foreign import LabelWords, Remarks, fitted, without_score
from reviewdesk.reports.mapping.records import Record, list_problem, mapped
from reviewdesk.reports.options import ReadOptions
from reviewdesk.reports.report import Report, ReportVerdict

_IDS = ("query_id", "item_id")
_RULES = ("voting", "strategy")
_NAMES = ("critic_id", "reviewer_id")
_LABELS = ("kind", "verdict")
_REASONS = ("reasoning", "rationale")
_INPUTS = ("query", "input", "prompt", "question")
_OUTPUTS = ("output", "response", "answer", "completion", "target")
_REFERENCES = ("reference", "expected")
_META = frozenset({*_INPUTS, *_OUTPUTS, *_REFERENCES, "rubric", "generator", "run"})
_MAPPED = frozenset(
    {*_IDS, *_RULES, "verdicts", "consensus", "disagreement", "agreement_pct"}
    | {"avg_confidence", "krippendorff_alpha", "meta"}
)
_MAPPED_OF_CRITIC = frozenset(
    {*_NAMES, *_LABELS, *_REASONS}
    | {"confidence", "error", "raw_response", "elapsed_s", "model", "vendor"}
)
_ABOUT = _MAPPED_OF_CRITIC - {*_LABELS, *_REASONS}
"""The keys of a critic's record that do not hold its answer."""

_STRATEGIES = {
    "majority": "majority",
    "unanimous": "unanimous",
    "weighted": "weighted_vote",
    "first_disagreement": "first_disagreement",
}
_FAILED = {"ERROR": "error", "PARSE_FAIL": "parse_fail"}


class _Mapper:
    def __init__(self, options: ReadOptions) -> None:
        self.remarks = Remarks()
        self._names = foreign.VerdictNames()
        self._words = LabelWords(options)
        self._scale = options.scale
        self._models = foreign.Models(options)
        hint = "--pass-label and --fail-label say what a word means"
        self._no_vote = foreign.UnreadWords(f"labels without a vote; {hint}")
        self._no_decision = foreign.UnreadWords(f"consensus words that decide nothing; {hint}")

    def notes(self) -> list[str]:
        unread = (*self._no_decision.notes(), *self._no_vote.notes())
        return [*self._models.notes(), *unread, *self.remarks.notes(foreign.LEFT_OUT)]

    def items(self, record: Record) -> Iterator[ReportVerdict]:
        problem = list_problem(
            record.value, "verdicts", "a list of the critics' verdicts", required=True
        )
        yield record.refused(problem) if problem else record.item(self._verdict(record))

    def _verdict(self, record: Record) -> dict[str, Any]:
        value: dict[str, Any] = record.value
        self.remarks.unmapped(values.beyond(value, _MAPPED))
        meta = values.record(value.get("meta"))
        self.remarks.unmapped(values.beyond(meta, _META), "meta.")
        panel: list[dict[str, Any]] = value["verdicts"]
        name = values.label(values.first(value, _IDS)) or f"verdict {record.pointer}"
        jurors = self._jurors(panel)
        answered = any("error" not in juror for juror in jurors)
        differ = value.get("disagreement")
        rule = values.first(value, _RULES)
        body = {
            "id": self._names.verdict(name),
            "case": {"test": name},
            **_texts(meta),
            "strategy": _strategy(rule),
            "decision": self._decision(value, failed=bool(jurors) and not answered),
            "label": values.filled(value.get("consensus")),
            "agreement": self._agreement(value, answered=answered),
            "jurors": jurors,
            "provenance": values.without_nulls(
                {
                    "pointer": record.pointer,
                    "run_id": values.label(meta.get("run")),
                    "unanimous": not differ if answered and isinstance(differ, bool) else None,
                }
            ),
        }
        figures = {
            "avg_confidence": values.unit(value.get("avg_confidence")) if answered else None,
            "krippendorff_alpha": values.number(value.get("krippendorff_alpha")),
        }
        if known_figures := values.without_nulls(figures):
            body["meta"] = known_figures
        return values.without_nulls(body)

    def _decision(self, value: dict[str, Any], *, failed: bool) -> str | None:
        """Return the consensus as a decision, or ``error`` if every critic failed."""
        if failed:
            return "error"
        word = values.filled(value.get("consensus"))
        vote = self._words.vote(word)
        if vote is not None:
            return "pass" if vote else "fail"
        if word is not None:
            self._no_decision.add(word)
        return None

    def _agreement(self, value: dict[str, Any], *, answered: bool) -> dict[str, Any] | None:
        stated = value.get("agreement_pct")
        if stated is None or not answered:
            # The tool writes 0 if there are no answers at all.
            return None
        share = values.unit(stated)
        if share is None:
            self.remarks.count("an agreement_pct that is no share from 0 to 1 is left out")
            return None
        return {"value": share, "metric": "consensus_share"}

    def _jurors(self, panel: list[dict[str, Any]]) -> list[dict[str, Any]]:
        called = [
            values.label(values.first(critic, _NAMES)) or f"critic {seat}"
            for seat, critic in enumerate(panel, 1)
        ]
        ids = foreign.VerdictNames.jurors(called)
        return [self._juror(*seat) for seat in zip(ids, called, panel, strict=True)]

    def _juror(self, juror_id: str, called: str, critic: dict[str, Any]) -> dict[str, Any]:
        self.remarks.unmapped(values.beyond(critic, _MAPPED_OF_CRITIC), "verdicts.")
        word = values.filled(values.first(critic, _LABELS))
        vote = self._words.vote(word)
        scores = fitted(critic.get("confidence"), self._scale, self.remarks.count, "a confidence")
        confidence = scores.get("score")
        if vote is None or confidence is None:
            scores.pop("score", None)
        elif not vote:
            scores["score"] = round(1 - confidence, 12)
        body = {
            "id": juror_id,
            "model": self._models.of(called, critic.get("model")),
            "vendor": values.filled(critic.get("vendor")),
            "label": word,
            "reason": values.filled(values.first(critic, _REASONS)),
            "latency_ms": values.amount(critic.get("elapsed_s"), 1000),
            "raw": values.filled(critic.get("raw_response")),
        }
        failed = self._failure(critic, word)
        if failed:
            # For a failed call the tool writes a confidence of 0, and the label is not an answer.
            kept = without_score(scores, self.remarks.count) if vote is not None else {}
            return values.without_nulls(body | kept | failed)
        if word is not None and vote is None:
            self._no_vote.add(word)
        # A label without a vote keeps ``pass: null``, so that no threshold decides instead.
        found = values.without_nulls(
            body | scores | {"confidence": confidence, "pass": vote}, "pass"
        )
        return understood(found, unread_keys(critic, _LABELS, _ABOUT))

    def _failure(self, critic: dict[str, Any], word: str | None) -> dict[str, Any] | None:
        stated = critic.get("error")
        status = _FAILED.get((word or "").strip().upper())
        if not stated and status is None:
            return None
        message = values.text(stated) if stated and stated is not True else None
        if message is None:
            return failure(f"the critic answered {word}" if word else "", status)
        return failure(message, status if status == "parse_fail" else None)


def _texts(meta: dict[str, Any]) -> dict[str, Any]:
    """Return the texts that the caller passed in ``meta`` under a key with a known meaning."""
    generator = values.filled(meta.get("generator"))
    return {
        "input": values.text(values.first(meta, _INPUTS)),
        "output": values.text(values.first(meta, _OUTPUTS)),
        "reference": values.text(values.first(meta, _REFERENCES)),
        "rubric": values.text(meta.get("rubric")),
        "generator": {"model": generator} if generator else None,
    }


def _strategy(rule: Any) -> str | None:
    named = values.filled(rule)
    return _STRATEGIES.get(named.strip().lower(), "external") if named else None


def _fits(look: FirstLook) -> bool:
    keys = look.outline.keys
    return {"verdicts", "consensus"} <= keys.keys() and any(name in keys for name in _IDS)


def _open(source: Source, look: FirstLook, options: ReadOptions) -> Report:
    header = {"schema": FORMAT_NAME, "producer": {"name": "cross-judge", "format": "cross-judge"}}
    return mapped(
        source,
        look,
        options,
        header,
        lambda: _Mapper(options),
        name="cross-judge",
        nothing="holds no verdict of a cross-judge ensemble",
    )


DIALECT = Dialect(
    "cross-judge",
    "a cross-judge file",
    _fits,
    _open,
    frozenset({"models", "pass_labels", "fail_labels", "scale"}),
)
