"""The batch interfaces of OpenAI, Anthropic, Mistral and Gemini: what is sent, and what comes back.

Nothing here opens a connection. What the vendors document was looked up in November 2026.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from msgspec import Struct

from reviewdesk.domain.panel.juror import Juror
from reviewdesk.domain.panel.prompt import schema
from reviewdesk.live.records import Call
from reviewdesk.live.wires.envelope import stated_error, text_of
from reviewdesk.live.wires.requests import ANTHROPIC_VERSION, encoded, payload
from reviewdesk.live.wires.vendors import endpoint

NAME_KEY: Final = "reviewdesk"
"""The key of a batch's metadata that holds our name of it, by which it is found again."""

Named: TypeAlias = tuple[str, Call]
"""A call with the id under which its answer comes back."""


class Upload(Struct, frozen=True):
    """A body to be posted to a path below the vendor's address."""

    path: str
    body: bytes
    content_type: str = "application/json"


class VendorJob(Struct, frozen=True):
    """A batch as the vendor states it; ``results`` are the paths of its answers, once it ended."""

    id: str
    name: str | None = None
    """Our name of it; ``None`` where the vendor keeps none."""
    created: str = ""
    count: int = 0
    has_ended: bool = False
    results: tuple[str, ...] = ()
    problem: str = ""


class BatchAnswer(Struct, frozen=True):
    """The answer to one call of a batch: a status and a body, or the problem that it has."""

    call_id: str
    body: str = ""
    status: int | None = None
    problem: str = ""


class FileBatches:
    """OpenAI's interface: a file of requests goes up, and a file of answers comes down."""

    create_path = "/batches"
    jobs_path = "/batches"
    place = "/batches/{}"
    headers: Mapping[str, str] = {}
    key_header = "authorization"
    takes_file = True
    """Whether the requests go up as a file; otherwise they are part of the batch."""

    def root(self, juror: Juror) -> str:
        """Return the address below which all paths are."""
        return endpoint(juror).url.removesuffix(endpoint(juror).wire.value)

    def upload(self, name: str, calls: Sequence[Named]) -> Upload | None:
        """Return the file of the requests, if the vendor wants one."""
        if not self.takes_file:
            return None
        lines = b"".join(encoded(self._line(*named)) + b"\n" for named in calls)
        head = (
            f'--{name}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
            f'--{name}\r\nContent-Disposition: form-data; name="file"; filename="{name}.jsonl"\r\n'
            "Content-Type: application/jsonl\r\n\r\n"
        )
        body = head.encode() + lines + f"\r\n--{name}--\r\n".encode()
        return Upload("/files", body, f"multipart/form-data; boundary={name}")

    def create(self, name: str, calls: Sequence[Named], file: str) -> Upload:  # noqa: ARG002
        """Return the request that begins the batch, which is what costs money."""
        body = {
            "input_file_id": file,
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "metadata": {NAME_KEY: name},
        }
        return Upload(self.create_path, encoded(body))

    def job(self, found: Mapping[str, Any]) -> VendorJob:
        """Read a batch."""
        state = found.get("status")
        errors = _mapping(found.get("errors")).get("data")
        files = [found.get("output_file_id"), found.get("error_file_id")]
        return VendorJob(
            id=text_of(found.get("id")),
            name=_mapping(found.get("metadata")).get(NAME_KEY),
            has_ended=state in {"completed", "failed", "expired", "cancelled"},
            results=tuple(f"/files/{one}/content" for one in files if one),
            problem=f"the batch is {state}" + _messages(errors),
        )

    def page(self, found: Mapping[str, Any], number: int) -> tuple[list[VendorJob], str | None]:  # noqa: ARG002
        """Read a page of the vendor's list of batches, and return it with the query of the next."""
        jobs = [self.job(one) for one in _rows(found.get("data"))]
        more = found.get("has_more") and jobs
        return jobs, f"limit=100&{self._cursor}={jobs[-1].id}" if more else None

    _cursor = "after"
    first_page = "limit=100"

    def answers(self, body: str) -> Iterator[BatchAnswer]:
        """Read the answers of a batch from what one of its result paths holds."""
        for line in filter(str.strip, body.split("\n")):
            yield self._answer(json.loads(line))

    def _line(self, call_id: str, call: Call) -> dict[str, Any]:
        body = payload(call, endpoint(call.juror))
        return {"custom_id": call_id, "method": "POST", "url": "/v1/chat/completions", "body": body}

    def _answer(self, found: Mapping[str, Any]) -> BatchAnswer:
        call_id = text_of(found.get("custom_id"))
        response = found.get("response")
        if isinstance(response, Mapping) and response.get("body"):
            status = response.get("status_code")
            return BatchAnswer(
                call_id, _text(response["body"]), status if isinstance(status, int) else 200
            )
        return BatchAnswer(call_id, problem=_problem(found.get("error")))


class MistralBatches(FileBatches):
    """Mistral's interface: files as OpenAI's, and jobs under a path of their own."""

    create_path = "/batch/jobs"
    jobs_path = "/batch/jobs"
    place = "/batch/jobs/{}"
    first_page = "page=0&page_size=100"

    def create(self, name: str, calls: Sequence[Named], file: str) -> Upload:
        """Return the request that begins the job."""
        body = {
            "input_files": [file],
            "endpoint": "/v1/chat/completions",
            "model": calls[0][1].juror.model,
            "metadata": {NAME_KEY: name},
        }
        return Upload(self.create_path, encoded(body))

    def job(self, found: Mapping[str, Any]) -> VendorJob:
        """Read a job."""
        state = text_of(found.get("status"))
        files = [found.get("output_file"), found.get("error_file")]
        return VendorJob(
            id=text_of(found.get("id")),
            name=_mapping(found.get("metadata")).get(NAME_KEY),
            has_ended=state in {"SUCCESS", "FAILED", "TIMEOUT_EXCEEDED", "CANCELLED"},
            results=tuple(f"/files/{one}/content" for one in files if one),
            problem=f"the batch is {state.lower().replace('_', ' ')}"
            + _messages(found.get("errors")),
        )

    def page(self, found: Mapping[str, Any], number: int) -> tuple[list[VendorJob], str | None]:
        """Read a page of the list of jobs."""
        jobs = [self.job(one) for one in _rows(found.get("data"))]
        return jobs, f"page={number + 1}&page_size=100" if len(jobs) == 100 else None

    def _line(self, call_id: str, call: Call) -> dict[str, Any]:
        body = payload(call, endpoint(call.juror))
        return {"custom_id": call_id, "body": {k: v for k, v in body.items() if k != "model"}}


class AnthropicBatches(FileBatches):
    """Anthropic's interface: requests in the body; a batch keeps no name, so answers tell it."""

    create_path = jobs_path = "/messages/batches"
    place = "/messages/batches/{}"
    headers: Mapping[str, str] = {"anthropic-version": ANTHROPIC_VERSION}
    key_header = "x-api-key"
    takes_file = False
    _cursor = "after_id"

    def create(self, name: str, calls: Sequence[Named], file: str) -> Upload:  # noqa: ARG002
        """Return the request that begins the batch."""
        asked = [
            {"custom_id": call_id, "params": payload(call, endpoint(call.juror))}
            for call_id, call in calls
        ]
        return Upload(self.create_path, encoded({"requests": asked}))

    def job(self, found: Mapping[str, Any]) -> VendorJob:
        """Read a batch; its own address for the results is not used, as the key goes there."""
        state = found.get("processing_status")
        ident = text_of(found.get("id"))
        counts = _mapping(found.get("request_counts"))
        return VendorJob(
            id=ident,
            created=text_of(found.get("created_at")),
            count=sum(one for one in counts.values() if isinstance(one, int)),
            has_ended=state == "ended",
            results=(f"/messages/batches/{ident}/results",) if found.get("results_url") else (),
            problem=f"the batch is {state}, and its results are no longer kept",
        )

    def _answer(self, found: Mapping[str, Any]) -> BatchAnswer:
        call_id = text_of(found.get("custom_id"))
        result = _mapping(found.get("result"))
        if result.get("type") == "succeeded":
            return BatchAnswer(call_id, _text(result.get("message")), 200)
        error = _mapping(result.get("error"))
        return BatchAnswer(call_id, problem=_problem(error.get("error") or error or result))


class GeminiBatches(FileBatches):
    """Gemini's own interface: requests in the body, of its own form, and answers in the batch."""

    jobs_path = "/batches"
    place = "/{}"
    key_header = "x-goog-api-key"
    takes_file = False
    first_page = "pageSize=100"

    def root(self, juror: Juror) -> str:
        """Return the address of the native interface."""
        return super().root(juror).removesuffix("/openai")

    def create(self, name: str, calls: Sequence[Named], file: str) -> Upload:  # noqa: ARG002
        """Return the request that begins the batch."""
        asked = [
            {"request": _generate_body(call), "metadata": {"key": call_id}}
            for call_id, call in calls
        ]
        source = {"requests": {"requests": asked}}
        body = {"batch": {"displayName": name, "inputConfig": source}}
        return Upload(f"/models/{calls[0][1].juror.model}:batchGenerateContent", encoded(body))

    def job(self, found: Mapping[str, Any]) -> VendorJob:
        """Read a batch, in which the answers are once it has succeeded."""
        about = _mapping(found.get("metadata"))
        ident = text_of(found.get("name"))
        state = text_of(about.get("state")).rpartition("STATE_")[2]
        has_answers = state in {"SUCCEEDED", "PARTIALLY_SUCCEEDED"}
        error = _mapping(found.get("error")).get("message")
        return VendorJob(
            id=ident,
            name=about.get("displayName"),
            has_ended=has_answers or state in {"FAILED", "CANCELLED", "EXPIRED"},
            results=(f"/{ident}",) if has_answers else (),
            problem=f"the batch is {state.lower()}" + (f": {text_of(error)}" if error else ""),
        )

    def page(self, found: Mapping[str, Any], number: int) -> tuple[list[VendorJob], str | None]:  # noqa: ARG002
        """Read a page of the list of batches."""
        more = found.get("nextPageToken")
        jobs = [self.job(one) for one in _rows(found.get("operations"))]
        return jobs, f"pageSize=100&pageToken={more}" if more else None

    def answers(self, body: str) -> Iterator[BatchAnswer]:
        """Read the answers, which name their call."""
        found = _mapping(json.loads(body))
        held = _mapping(found.get("response")) or _mapping(
            _mapping(found.get("metadata")).get("output")
        )
        for one in _rows(_mapping(held.get("inlinedResponses")).get("inlinedResponses")):
            call_id = text_of(_mapping(one.get("metadata")).get("key"))
            if response := one.get("response"):
                yield BatchAnswer(call_id, _text(response), 200)
            else:
                yield BatchAnswer(call_id, problem=_problem(one.get("error")))


def _generate_body(call: Call) -> dict[str, Any]:
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


_INTERFACES: Final[Mapping[str, FileBatches]] = {
    "openai": FileBatches(),
    "anthropic": AnthropicBatches(),
    "mistral": MistralBatches(),
    "gemini": GeminiBatches(),
}


def interface(juror: Juror) -> FileBatches | None:
    """Return the batch interface of a juror's vendor, or ``None`` if the juror is asked live.

    Gemini's takes other keys than chat completions. Of those under ``extra`` only the effort is
    known to have another name there, since version 3; a juror with others is asked live.
    """
    if juror.vendor == "gemini" and juror.extra:
        is_known = juror.extra.keys() == {"reasoning_effort"}
        if not is_known or juror.model.startswith("gemini-2"):
            return None
    return _INTERFACES.get(juror.vendor)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _rows(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _messages(errors: Any) -> str:
    texts = [text_of(one.get("message")) for one in _rows(errors)]
    return f": {texts[0]}" if texts and texts[0] else ""


def _problem(error: Any) -> str:
    found = _mapping(error)
    known = (found.get(key) for key in ("code", "type", "status"))
    kind = next((one for one in known if isinstance(one, str) and one), "batch_error")
    message = stated_error(json.dumps({"error": dict(found)})).message
    return f"{kind.replace(':', ' ')}: {message or 'the vendor did not answer this call'}"
