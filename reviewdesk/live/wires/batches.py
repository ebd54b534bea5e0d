"""The batch interfaces of vendors as data, from their documentation of November 2026."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from reviewdesk.domain.panel.juror import Juror
from reviewdesk.domain.panel.prompt import schema
from reviewdesk.live.records import Call
from reviewdesk.live.replies.envelope import count_at, rows_at, stated_error, text_at, value_at
from reviewdesk.live.wires.endpoints import endpoint
from reviewdesk.live.wires.requests import encoded, payload

NAME_KEY = "reviewdesk"
"""The key of a batch's metadata for our name, by which the batch is found again."""

Named = tuple[str, Call]
"""A call with the id under which its answer is returned."""


class Upload(Struct, frozen=True):
    """A body to be posted to a path below the vendor's address."""

    path: str
    body: bytes
    content_type: str = "application/json"


class VendorJob(Struct, frozen=True):
    """A batch as the vendor states it; ``results`` are the paths of its answers once it ends."""

    id: str
    name: str | None = None
    """Our name for it; ``None`` if the vendor stores no names."""
    created: str = ""
    count: int = 0
    has_ended: bool = False
    results: tuple[str, ...] = ()
    problem: str = ""


class BatchAnswer(Struct, frozen=True):
    """The answer to one call of a batch: a status and a body, or a problem."""

    body: str = ""
    status: int | None = None
    problem: str = ""


class BatchWire(Struct, frozen=True):
    """One vendor's batch interface: paths below its address, and paths within its JSON."""

    jobs: str
    place: str
    create: Callable[[str, Sequence[Named], str], dict[str, Any]]
    """Builds the body that begins a batch from our name, its calls and its uploaded file."""
    next_page: Callable[[Mapping[str, Any], Sequence[VendorJob], int], str | None]
    """Returns the query for the page after this one with these batches, numbered from 0."""
    creates: str = ""
    """The path at which a batch of a model is created, if it is not that of the list."""
    line: Callable[[str, Call], dict[str, Any]] | None = None
    """Builds a line of the file uploaded first; ``None`` if the batch holds the requests."""
    first_page: str = "limit=100"
    key_header: str = ""
    is_native: bool = False
    """Whether the address is that of live calls without ``/openai``."""
    id: str = "id"
    name: str = f"metadata.{NAME_KEY}"
    state: str = "status"
    ended: frozenset[str] = frozenset()
    results: str = "/files/{}/content"
    """The path of the answers, into which the value at each of ``files`` is inserted."""
    files: tuple[str, ...] = ()
    has_answers: Callable[[Mapping[str, Any], str], object] = lambda _found, _state: True
    """Whether a batch in this state has any answers, if ``files`` does not show it."""
    error: str = ""
    rows: tuple[str, ...] = ()
    """The paths of the answers in one JSON; empty if each answer is a separate line."""
    call_id: str = "custom_id"
    body: str = "response.body"
    status: str = ""
    errors: tuple[str, ...] = ("error",)
    """The paths of an answer's error; the first that exists counts."""

    def upload(self, name: str, calls: Sequence[Named]) -> Upload | None:
        if self.line is None:
            return None
        lines = b"".join(encoded(self.line(*named)) + b"\n" for named in calls)
        head = (
            f'--{name}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
            f'--{name}\r\nContent-Disposition: form-data; name="file"; filename="{name}.jsonl"\r\n'
            "Content-Type: application/jsonl\r\n\r\n"
        )
        body = head.encode() + lines + f"\r\n--{name}--\r\n".encode()
        return Upload("/files", body, f"multipart/form-data; boundary={name}")

    def creation(self, name: str, calls: Sequence[Named], file: str) -> Upload:
        path = self.creates.format(calls[0][1].juror.model) or self.jobs
        return Upload(path, encoded(self.create(name, calls, file)))

    def job(self, found: Mapping[str, Any]) -> VendorJob:
        """Read a batch; do not use an address that it names, as the key would be sent there."""
        state = text_at(found, self.state).rpartition("STATE_")[2]
        files = [text_at(found, path) for path in self.files]
        if not self.has_answers(found, state):
            files = []
        told = text_at(found, self.error) if self.error else "its results are no longer kept"
        states = ("processing", "succeeded", "errored", "canceled", "expired")
        return VendorJob(
            id=text_at(found, self.id),
            name=value_at(found, self.name),
            created=text_at(found, "created_at"),
            count=sum(count_at(found, f"request_counts.{one}") or 0 for one in states),
            has_ended=state in self.ended,
            results=tuple(self.results.format(file) for file in files if file),
            problem=f"the batch is {state.lower().replace('_', ' ')}" + (told and f": {told}"),
        )

    def page(self, found: Mapping[str, Any], number: int) -> tuple[list[VendorJob], str | None]:
        rows = rows_at(found, "data") or rows_at(found, "operations")
        jobs = [self.job(one) for one in rows]
        return jobs, self.next_page(found, jobs, number)

    def answers(self, body: str) -> dict[str, BatchAnswer]:
        if self.rows:
            whole = json.loads(body)
            rows = next((found for path in self.rows if (found := rows_at(whole, path))), [])
        else:
            rows = [json.loads(line) for line in body.split("\n") if line.strip()]
        return {text_at(one, self.call_id): self._answer(one) for one in rows}

    def _answer(self, found: Mapping[str, Any]) -> BatchAnswer:
        if body := value_at(found, self.body):
            status = value_at(found, self.status) if self.status else 200
            text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
            return BatchAnswer(text, status if isinstance(status, int) else 200)
        error = next(filter(None, (value_at(found, path) for path in self.errors)), None)
        known = [value_at(error, key) for key in ("code", "type", "status")]
        kind = next((one for one in known if isinstance(one, str) and one), "batch_error")
        told = stated_error(json.dumps({"error": error})).message
        told = told or "the vendor did not answer this call"
        return BatchAnswer(problem=f"{kind.replace(':', ' ')}: {told}")


def _body(call: Call) -> dict[str, Any]:
    return payload(call, endpoint(call.juror))


def _native_body(call: Call) -> dict[str, Any]:
    """Return the body of Gemini's own interface, which takes other keys than chat completions."""
    juror = call.juror
    settings: dict[str, Any] = {
        "maxOutputTokens": juror.max_tokens,
        "responseMimeType": "application/json",
        "responseJsonSchema": schema(call.labels),
    }
    if juror.acting_temperature is not None:
        settings["temperature"] = juror.acting_temperature
    if effort := juror.extra.get("reasoning_effort"):
        settings["thinkingConfig"] = {"thinkingLevel": "minimal" if effort == "none" else effort}
    return {
        "systemInstruction": {"parts": [{"text": call.prompt.system}]},
        "contents": [{"role": "user", "parts": [{"text": call.prompt.user}]}],
        "generationConfig": settings,
    }


def _after(cursor: str) -> Callable[[Mapping[str, Any], Sequence[VendorJob], int], str | None]:
    def query(found: Mapping[str, Any], jobs: Sequence[VendorJob], _: int) -> str | None:
        return f"limit=100&{cursor}={jobs[-1].id}" if found.get("has_more") and jobs else None

    return query


WIRES: Mapping[str, BatchWire] = {
    "openai": BatchWire(
        jobs="/batches", place="/batches/{}",
        line=lambda name, call: {
            "custom_id": name, "method": "POST", "url": "/v1/chat/completions", "body": _body(call),
        },
        create=lambda name, _, file: {
            "input_file_id": file, "endpoint": "/v1/chat/completions",
            "completion_window": "24h", "metadata": {NAME_KEY: name},
        },
        next_page=_after("after"),
        ended=frozenset({"completed", "failed", "expired", "cancelled"}),
        files=("output_file_id", "error_file_id"), error="errors.data.0.message",
        status="response.status_code",
    ),
    "mistral": BatchWire(
        jobs="/batch/jobs", place="/batch/jobs/{}",
        line=lambda name, call: {
            "custom_id": name, "body": {k: v for k, v in _body(call).items() if k != "model"},
        },
        create=lambda name, calls, file: {
            "input_files": [file], "endpoint": "/v1/chat/completions",
            "model": calls[0][1].juror.model, "metadata": {NAME_KEY: name},
        },
        first_page="page=0&page_size=100",
        next_page=lambda _, jobs, number: (
            f"page={number + 1}&page_size=100" if len(jobs) == 100 else None
        ),
        ended=frozenset({"SUCCESS", "FAILED", "TIMEOUT_EXCEEDED", "CANCELLED"}),
        files=("output_file", "error_file"), error="errors.0.message",
        status="response.status_code",
    ),
    "anthropic": BatchWire(
        jobs="/messages/batches", place="/messages/batches/{}",
        create=lambda _, calls, __: {
            "requests": [{"custom_id": name, "params": _body(call)} for name, call in calls]
        },
        next_page=_after("after_id"),
        name="", state="processing_status", ended=frozenset({"ended"}),
        results="/messages/batches/{}/results", files=("id",),
        has_answers=lambda found, _: found.get("results_url"),
        body="result.message",
        errors=("result.error.error", "result.error", "result"),
    ),
    "gemini": BatchWire(
        jobs="/batches", place="/{}", creates="/models/{}:batchGenerateContent",
        create=lambda name, calls, _: {
            "batch": {
                "displayName": name,
                "inputConfig": {"requests": {"requests": [
                    {"request": _native_body(call), "metadata": {"key": key}} for key, call in calls
                ]}},
            }
        },
        first_page="pageSize=100",
        next_page=lambda found, *_: (
            f"pageSize=100&pageToken={more}" if (more := found.get("nextPageToken")) else None
        ),
        key_header="x-goog-api-key", is_native=True,
        id="name", name="metadata.displayName", state="metadata.state",
        ended=frozenset({"SUCCEEDED", "PARTIALLY_SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED"}),
        results="/{}", files=("name",),
        has_answers=lambda _, state: state.endswith("SUCCEEDED"),
        error="error.message",
        rows=(
            "response.inlinedResponses.inlinedResponses",
            "metadata.output.inlinedResponses.inlinedResponses",
        ),
        call_id="metadata.key", body="response",
    ),
}  # fmt: skip


def interface(juror: Juror) -> BatchWire | None:
    """Return the batch interface of a juror's vendor, or ``None`` if the juror is asked live."""
    if juror.vendor == "gemini" and juror.extra:
        # Its own interface has a known name for the effort alone, since version 3.
        is_known = juror.extra.keys() == {"reasoning_effort"}
        if not is_known or juror.model.startswith("gemini-2"):
            return None
    return WIRES.get(juror.vendor)


def is_batched(call: Call) -> bool:
    return interface(call.juror) is not None
