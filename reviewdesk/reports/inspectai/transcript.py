"""Read a log's header, the texts of a sample, and the model calls of its scorers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeAlias

from msgspec import Struct

from reviewdesk.domain.safetext import show_line
from reviewdesk.reports.bytes.strict_json import Fail
from reviewdesk.reports.bytes.window import TOO_LARGE, Window
from reviewdesk.reports.mapping.values import filled, listed, record, time, without_nulls
from reviewdesk.reports.wording import JsonObject, spell_path


class PanelSeat(Struct, frozen=True):
    """One place on a scorer's panel."""

    name: str
    model: str | None


class Scorer(Struct, frozen=True):
    """A scorer's configuration, with one seat for each model that it asks."""

    name: str
    seats: tuple[PanelSeat, ...] = ()
    rubric: str | None = None


class LogHeader(Struct, frozen=True):
    """The parts of a log's header that are used."""

    spec: Mapping[str, Any]
    scorers: Mapping[str, Scorer]
    """Scorers, keyed by the name of the score that each one gives."""

    @staticmethod
    def of(header: Mapping[str, Any]) -> "LogHeader":
        """Read a header. Ignore keys that are missing or hold another type."""
        spec = record(header.get("eval"))
        stated = {}
        if isinstance(spec.get("scorers"), list):
            for at, one in enumerate(map(record, spec["scorers"])):
                stated[at, filled(one.get("name"))] = one.get("options")
        else:
            # Older logs list scorers only in the results, once for each score.
            for one in map(record, listed(record(header.get("results")).get("scores"))):
                stated.setdefault((0, filled(one.get("scorer"))), one.get("params"))
        found: dict[str, Scorer] = {}
        for (_, name), options in stated.items():
            if name is not None:
                # Inspect calls a second scorer's scores name1.
                names = (f"{name}{number or ''}" for number in count())
                key = next(one for one in names if one not in found)
                found[key] = _scorer(name, record(options), spec)
        return LogHeader(spec, found)

    @property
    def model(self) -> str | None:
        """The model under test, or None if the log names none."""
        model = filled(self.spec.get("model"))
        return None if model == "none/none" else model

    @property
    def epochs(self) -> int:
        return whole(record(self.spec.get("config")).get("epochs")) or 1

    @property
    def about(self) -> JsonObject:
        """The header of the report."""
        producer = {
            "name": "inspect_ai",
            "version": filled(record(self.spec.get("packages")).get("inspect_ai")),
            "format": "inspect",
            "run_id": filled(self.spec.get("run_id")),
        }
        return {
            "title": filled(self.spec.get("task")),
            "created_at": time(self.spec.get("created")),
            "producer": without_nulls(producer),
        }

    @property
    def planned(self) -> int | None:
        """The number of samples in a complete log, or None if unknown."""
        dataset = whole(record(self.spec.get("dataset")).get("samples"))
        return dataset * self.epochs if dataset is not None else None


def whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _scorer(name: str, options: JsonObject, spec: JsonObject) -> Scorer:
    rubric = filled(options.get("instructions")) or filled(options.get("template"))
    if members := listed(options.get("scorers")):
        seats = [
            PanelSeat(
                filled(one.get("name")) or name, next(iter(_models(params.get("model"))), None)
            )
            for one in map(record, members)
            for params in (record(one.get("params")),)
        ]
        return Scorer(name, tuple(seats), rubric)
    models = _models(options.get("model"))
    if not models and name.rpartition("/")[2].startswith("model_graded"):
        role = options.get("model_role", "grader")
        named = filled(role) or filled(record(role).get("name"))
        bound = record(spec.get("model_roles")).get(named) if named else None
        models = _models(bound) or _models(spec.get("model"))
    return Scorer(name, tuple(PanelSeat(model, model) for model in models), rubric)


def _models(stated: Any) -> list[str]:
    """Return the model names in a text, in an object with a ``model``, or in a list of these."""
    each = stated if isinstance(stated, list) else [stated]
    models = (filled(record(one).get("model")) or filled(one) for one in each)
    return [model for model in models if model]


_ATTACHED = "attachment://"


class Texts:
    """Reads the texts of one sample. Inspect stores the long ones as attachments."""

    def __init__(self, attachments: Mapping[str, str]) -> None:
        self._attachments = attachments

    def plain(self, value: Any) -> str | None:
        """Return the text, or the attachment that it refers to; None if it is not a text."""
        if not isinstance(value, str):
            return None
        if value.startswith(_ATTACHED):
            return self._attachments.get(value[len(_ATTACHED) :], value)
        return value

    def content(self, value: Any) -> str | None:
        """Return a message's content as text. A part that is not text becomes its ``[type]``."""
        if not isinstance(value, list):
            return self.plain(value)
        texts = []
        for part in value:
            kind = part.get("type") if isinstance(part, dict) else "text"
            if kind == "text":
                texts.append(self.plain(part.get("text") if isinstance(part, dict) else part))
            elif kind != "reasoning":  # which is not part of a model's answer
                texts.append(f"[{kind}]")
        return "\n".join(filter(None, texts)) or None

    def messages(self, value: Any) -> str | None:
        """Return an input: a text, a single user message, or a conversation with its roles."""
        if not isinstance(value, list):
            return self.plain(value)
        turns = [
            (str(message.get("role")), self.content(message.get("content")) or "")
            for message in value
            if isinstance(message, dict)
        ]
        if len(turns) == 1 and turns[0][0] == "user":
            return turns[0][1]
        return "\n\n".join(f"{role}: {text}" for role, text in turns) or None

    def output(self, value: Any) -> str | None:
        """Return a model's answer: its completion, else the content of its first choice."""
        if not isinstance(value, dict):
            return None
        if completion := self.plain(value.get("completion")):
            return completion
        choices = listed(value.get("choices")) or [None]
        return self.content(record(record(choices[0]).get("message")).get("content"))

    def reference(self, value: Any) -> str | list[str] | None:
        """Return a sample's target: one text, or a list if any of several texts is correct."""
        if not isinstance(value, list):
            return self.plain(value) or None
        texts = [text for text in map(self.plain, value) if text is not None]
        return texts[0] if len(texts) == 1 else texts or None


KEEP = "keep"
"""In a shape: keep the value as it is, or None if it is too long to hold in memory."""

ANY = "*"
"""In a shape: stands for every key of an object."""

OTHERS = "*others"
"""In a shape: list the names of the keys that are not kept."""

Shape: TypeAlias = Any
"""``KEEP``, a dict of keys to shapes, or a list with the shape of every element."""


_MOST_OTHERS = 12


def pick(window: Window, shape: Shape, where: str) -> Any:
    """Read the value at the window and return the parts that the shape names.

    A value of another type than its shape is returned whole, so that the caller can name it.
    """
    start = window.peek()
    if isinstance(shape, list) and start == "[":
        return [pick(window, shape[0], f"{where}[{index}]") for index in window.elements()]
    if not isinstance(shape, dict) or start != "{":
        return window.skim(where)
    found: JsonObject = {}
    for key in window.members():
        wanted = None if key == OTHERS else shape.get(key, shape.get(ANY))
        if wanted is None:
            window.skim(where)
            if OTHERS in shape and len(others := found.setdefault(OTHERS, [])) < _MOST_OTHERS:
                others.append(key)
        else:
            found[key] = pick(window, wanted, where)
    return found


EVENT = {
    **dict.fromkeys(("event", "id", "parent_id", "span_id", "type", "action", "name"), KEEP),
    **dict.fromkeys(("model", "role", "error", "working_time", "scorer", "intermediate"), KEEP),
    "output": {
        **dict.fromkeys(("completion", "error", "time"), KEEP),
        "choices": [{"message": {"content": KEEP}}],
        "usage": dict.fromkeys(("input_tokens", "output_tokens"), KEEP),
    },
}
"""The fields of an event that are read, as a shape for ``pick``."""


RUN = {"status": KEEP, "eval": {ANY: KEEP}, "results": {"scores": KEEP}}
"""The fields of a log's header that are read."""


class ModelCall(Struct, frozen=True):
    """One call that a scorer made to a model."""

    model: str
    role: str | None
    output: JsonObject
    failed: str | None
    """The error message, or None."""
    seconds: Any


class Transcript:
    """Track the scorers of one sample and their model calls, event by event."""

    def __init__(self) -> None:
        self.of_spans: dict[str, list[ModelCall]] = {}
        """Model calls, by the span of their scorer."""
        self._within: dict[str, str] = {}
        """The scorer's span around each span, by span id."""
        self.names: dict[str, str] = {}
        """The scorers' names, by their spans."""
        self.scored: dict[str, str] = {}
        """The scorer's span, by the name of its score."""
        self._step = ""
        """The open step of a scorer. Older logs have steps in place of spans."""
        self.failed_scorer: str | None = None
        """The scorer that was running when the sample failed, or None."""

    def take(self, event: Any) -> None:
        if not isinstance(event, dict):
            return
        kind = event.get("event")
        if kind == "span_begin":
            self._begin(_text(event.get("id")), event)
        elif kind == "step" and event.get("type") == "scorer":
            self._step = f"step {len(self.names)}" if event.get("action") == "begin" else ""
            if self._step:
                self._begin(self._step, event)
        elif kind == "model" and (calls := self.of_spans.get(self._span(event))) is not None:
            output = record(event.get("output"))
            failed = event.get("error") or output.get("error")
            seconds = event.get("working_time")
            calls.append(
                ModelCall(
                    model=_text(event.get("model")),
                    role=_text(event.get("role")) or None,
                    output=output,
                    failed=failed if isinstance(failed, str) else None,
                    seconds=seconds if seconds is not None else output.get("time"),
                )
            )
        elif kind == "score" and not event.get("intermediate"):
            span = self._span(event)
            self.scored.setdefault(_text(event.get("scorer")) or self.names.get(span, ""), span)
        elif kind == "error" and self.failed_scorer is None:
            scored = {*self.scored.values()}
            waiting = [name for span, name in self.names.items() if span not in scored]
            self.failed_scorer = waiting[-1] if waiting else None

    def calls(self, score: str) -> list[ModelCall]:
        """Return the model calls of the scorer behind a score."""
        return self.of_spans.get(self.scored.get(score, ""), [])

    def _begin(self, span: str, event: JsonObject) -> None:
        if event.get("type") == "scorer":
            self.names[span] = _text(event.get("name"))
            self.of_spans[span] = []
            self._within[span] = span
        elif above := self._within.get(_text(event.get("parent_id"))):
            self._within[span] = above

    def _span(self, event: JsonObject) -> str:
        return self._within.get(_text(event.get("span_id")), self._step)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


_VALUE = {"value": KEEP, "explanation": KEEP, "reason": KEEP, "metadata": {"panel": KEEP}}
_SOURCE = {"author": KEEP, "timestamp": KEEP, "reason": KEEP}
_SCORE = {**_VALUE, OTHERS: KEEP, "history": [{**_VALUE, "provenance": _SOURCE}]}
SAMPLE: dict[str, Shape] = {
    **dict.fromkeys(("id", "epoch", "input", "choices", "target"), KEEP),
    "output": {"completion": KEEP, "choices": [{"message": {"content": KEEP}}]},
    "scores": {ANY: _SCORE},
    "error": {"message": KEEP},
    "invalidation": _SOURCE,
}
"""The fields of a sample that are kept. Metadata, stores and model settings never are."""

_MOST_TEXT = 64 << 20
"""The most characters of a sample's attachments that are held."""


@dataclass(slots=True)
class Sample:
    """A sample of the log: its kept fields, attachments and model calls."""

    keys: JsonObject = field(default_factory=dict)
    attachments: dict[str, str] = field(default_factory=dict)
    transcript: Transcript = field(default_factory=Transcript)
    held: int = 0

    def attach(self, name: str, value: Any) -> None:
        """Keep a text from the attachments, unless the sample already holds too much."""
        if isinstance(value, str) and self.held + len(value) <= _MOST_TEXT:
            self.held += len(value)
            self.attachments[name] = value


def read_sample(window: Window, where: str, fail: Fail) -> Sample | None:
    """Read the sample at the window. Return None if the value there is not an object."""
    whole = window.held(where)
    if whole is not TOO_LARGE:
        return _whole_sample(whole) if isinstance(whole, dict) else None
    if window.peek() != "{":
        window.skim(where)
        return None
    sample = Sample()
    seen: set[str] = set()
    for key in window.members():
        path = spell_path((key,), where)
        if key in seen:
            raise fail(where, f'has the key "{show_line(key, 60)}" twice', "Keep one of them.")
        seen.add(key)
        if key == "events" and window.peek() == "[":
            read_events(window, path, sample)
        elif key == "attachments" and window.peek() == "{":
            for name in window.members():
                sample.attach(name, window.skim(path))
        elif key in SAMPLE:
            sample.keys[key] = pick(window, SAMPLE[key], path)
        else:
            window.skim(path)
    return sample


def _whole_sample(value: JsonObject) -> Sample:
    sample = Sample(_kept({key: value[key] for key in SAMPLE if key in value}, SAMPLE))
    for name, text in record(value.get("attachments")).items():
        sample.attach(name, text)
    for event in listed(value.get("events")):
        sample.transcript.take(_kept(event, EVENT))
    return sample


def _kept(value: Any, shape: Shape) -> Any:
    """Return the parts of a value that the shape names, as ``pick`` does."""
    if type(shape) is dict and type(value) is dict:
        every = shape.get(ANY)
        found: JsonObject = {}
        for key, one in value.items():
            wanted = None if key == OTHERS else shape.get(key, every)
            if wanted is not None:
                found[key] = one if wanted is KEEP else _kept(one, wanted)
        if len(found) < len(value) and OTHERS in shape:
            found[OTHERS] = [key for key in value if key not in found][:_MOST_OTHERS]
        return found
    if type(shape) is list and type(value) is list:
        return [_kept(one, shape[0]) for one in value]
    return value


def read_events(window: Window, path: str, sample: Sample) -> None:
    for index in window.elements():
        sample.transcript.take(pick(window, EVENT, f"{path}[{index}]"))
