"""The batch interfaces of four vendors, for the local server of the tests.

    vendors = BatchVendors()
    async with Server(fault=vendors) as server: ...

Every batch is answered as soon as ``is_done`` says so; ``lost`` calls are answered by an error.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.live.server import Seen, answer, envelope, verdict

NATIVE_USAGE = {"promptTokenCount": 120, "candidatesTokenCount": 30, "thoughtsTokenCount": 10}


@dataclass
class Batch:
    """One batch: the vendor's id and our name, and each call's body by its id."""

    id: str
    vendor: str
    name: str | None
    calls: dict[str, dict[str, Any]]


@dataclass
class BatchVendors:
    """Takes batches; ``paid`` counts the calls by vendor, and ``seen`` the paths that came."""

    is_done: bool = False
    late: set[str] = field(default_factory=set)
    """The ids of batches that are not answered even then."""
    drops: bool = False
    """Whether the connection breaks after a batch was taken and before that is said."""
    holds: bool = False
    """Whether no answer comes after a batch was taken."""
    forgets: bool = False
    """Whether the connection breaks before a batch is taken."""
    refuses: int = 0
    lost: Callable[[str], bool] = lambda _: False
    batches: list[Batch] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    seen: list[Seen] = field(default_factory=list)
    paid: Counter[str] = field(default_factory=Counter)
    taken: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, seen: Seen, out: asyncio.StreamWriter) -> None:
        """Answer one request of any of the vendors, or a live call."""
        self.seen.append(seen)
        path = seen.path.partition("?")[0].removeprefix("/v1beta").removeprefix("/v1")
        if path.endswith(("/chat/completions", "/messages")):
            out.write(answer(200, envelope(seen, verdict(seen))))
        elif not seen.body:
            self._get(path, out)
        elif path == "/files":
            self._uploaded(seen, out)
        else:
            await self._created(seen, path, out)

    def _uploaded(self, seen: Seen, out: asyncio.StreamWriter) -> None:
        boundary = seen.headers["content-type"].partition("boundary=")[2].encode()
        purpose, file = seen.body.split(b"--" + boundary)[1:3]
        assert b'name="purpose"\r\n\r\nbatch' in purpose
        name = f"file-{len(self.files)}"
        self.files[name] = file.partition(b"\r\n\r\n")[2].strip()
        out.write(answer(200, {"id": name}))

    async def _created(self, seen: Seen, path: str, out: asyncio.StreamWriter) -> None:
        if self.refuses:
            key = seen.headers.get("x-goog-api-key") or seen.key
            error = {"error": {"message": f"no batches for {key}"}}
            out.write(answer(self.refuses, error))
            return
        if self.forgets:
            out.close()
            return
        made = self._batch(path, seen.payload)
        self.batches.append(made)
        self.paid[made.vendor] += len(made.calls)
        self.taken.set()
        if self.holds:
            await asyncio.Event().wait()
        if self.drops:
            out.close()
        else:
            out.write(answer(200, self._told(made)))

    def _batch(self, path: str, body: dict[str, Any]) -> Batch:
        ident = f"b{len(self.batches)}"
        if path == "/messages/batches":
            calls = {one["custom_id"]: one["params"] for one in body["requests"]}
            return Batch(ident, "anthropic", None, calls)
        if path.endswith(":batchGenerateContent"):
            rows = body["batch"]["inputConfig"]["requests"]["requests"]
            calls = {one["metadata"]["key"]: one["request"] for one in rows}
            return Batch(f"batches/{ident}", "gemini", body["batch"]["displayName"], calls)
        is_openai = path == "/batches"
        file = body["input_file_id"] if is_openai else body["input_files"][0]
        rows = [json.loads(line) for line in self.files[file].splitlines()]
        calls = {one["custom_id"]: {"model": "m", **one["body"]} for one in rows}
        vendor = "openai" if is_openai else "mistral"
        return Batch(ident, vendor, body["metadata"]["reviewdesk"], calls)

    def _get(self, path: str, out: asyncio.StreamWriter) -> None:
        lists = {
            "/batches": "openai gemini", "/batch/jobs": "mistral", "/messages/batches": "anthropic",
        }  # fmt: skip
        for one in self.batches:
            if path in {f"/files/out-{one.id}/content", f"/messages/batches/{one.id}/results"}:
                lines = [self._line(one, *call) for call in reversed(one.calls.items())]
                out.write(answer(200, "".join(json.dumps(line) + "\n" for line in lines)))
                return
            if path.endswith(f"/{one.id}"):
                out.write(answer(200, self._told(one)))
                return
        if path not in lists:
            out.write(answer(404, {"error": {"message": "nothing is here"}}))
            return
        rows = [self._told(one) for one in reversed(self.batches) if one.vendor in lists[path]]
        out.write(answer(200, {"data": rows, "operations": rows, "has_more": False}))

    def _told(self, one: Batch) -> dict[str, Any]:
        done = self.is_done and one.id not in self.late
        if one.vendor == "openai":
            return {
                "id": one.id, "object": "batch", "endpoint": "/v1/chat/completions",
                "completion_window": "24h", "created_at": 1, "input_file_id": "file-0",
                "status": "completed" if done else "in_progress",
                "metadata": {"reviewdesk": one.name},
                "output_file_id": f"out-{one.id}" if done else None,
            }  # fmt: skip
        if one.vendor == "mistral":
            count = len(one.calls)
            return {
                "id": one.id, "status": "SUCCESS" if done else "RUNNING", "errors": [],
                "metadata": {"reviewdesk": one.name}, "input_files": ["file-0"],
                "endpoint": "/v1/chat/completions", "created_at": 1, "total_requests": count,
                "completed_requests": 0, "succeeded_requests": 0, "failed_requests": 0,
                "output_file": f"out-{one.id}" if done else None,
            }  # fmt: skip
        if one.vendor == "anthropic":
            counts = {"canceled": 0, "errored": 0, "expired": 0, "processing": 0, "succeeded": 0}
            counts["succeeded" if done else "processing"] = len(one.calls)
            return {
                "id": one.id, "type": "message_batch", "request_counts": counts,
                "processing_status": "ended" if done else "in_progress",
                "created_at": "2030-01-01T00:00:00Z", "expires_at": "2030-01-02T00:00:00Z",
                "results_url": "https://elsewhere.example/results" if done else None,
            }  # fmt: skip
        about: dict[str, Any] = {"displayName": one.name, "state": "BATCH_STATE_RUNNING"}
        if not done:
            return {"name": one.id, "metadata": about}
        about["state"] = "BATCH_STATE_SUCCEEDED"
        rows = [self._line(one, *call) for call in one.calls.items()]
        held = {"inlinedResponses": {"inlinedResponses": rows}}
        return {"name": one.id, "metadata": about, "done": True, "response": held}

    def _line(self, one: Batch, call_id: str, body: dict[str, Any]) -> dict[str, Any]:
        if one.vendor == "gemini":
            return {"metadata": {"key": call_id}, **self._native(body)}
        path = "/v1/messages" if one.vendor == "anthropic" else "/v1/chat/completions"
        seen = Seen(path, {}, json.dumps(body).encode())
        lost, made = self.lost(seen.user), envelope(seen, verdict(seen))
        if one.vendor == "anthropic":
            result = {"type": "expired"} if lost else {"type": "succeeded", "message": made}
            return {"custom_id": call_id, "result": result}
        if lost:
            error = {"code": "batch_expired", "message": "the window passed"}
            return {"id": "r", "custom_id": call_id, "response": None, "error": error}
        response = {"status_code": 200, "request_id": "q", "body": made}
        return {"id": "r", "custom_id": call_id, "response": response, "error": None}

    def _native(self, body: dict[str, Any]) -> dict[str, Any]:
        asked = {"messages": [{"content": body["contents"][0]["parts"][0]["text"]}]}
        seen = Seen("", {}, json.dumps(asked).encode())
        if self.lost(seen.user):
            return {"error": {"code": 4, "message": "the window passed"}}
        parts = [{"text": "hm", "thought": True}, {"text": verdict(seen)}]
        first = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}
        return {"response": {"candidates": [first], "usageMetadata": NATIVE_USAGE}}
