"""A local server that speaks both wires over real sockets: for tests, and for the benchmark.

    async with Server(latency=0.5) as server:
        juror = Juror("a", "m", "custom", base_url=server.url)

``reply`` makes the juror's text of what was asked; ``fault`` takes over the raw connection.
"""

import asyncio
import json
import re
import ssl
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self, TypeAlias

_NONCE = re.compile(r'"nonce": "([^"]+)"')


@dataclass(frozen=True)
class Seen:
    """One request as it came in; header names in lower case."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def payload(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)
        return found

    @property
    def native(self) -> bool:
        return self.path.endswith("/messages")

    @property
    def system(self) -> str:
        payload = self.payload
        return _text(payload["system"] if self.native else payload["messages"][0]["content"])

    @property
    def user(self) -> str:
        return _text(self.payload["messages"][-1]["content"])

    @property
    def nonce(self) -> str:
        return str(_NONCE.findall(self.user)[-1])

    @property
    def key(self) -> str:
        named = self.headers.get("x-api-key") or self.headers.get("api-key")
        return named or self.headers.get("authorization", "")[7:]


def _text(content: str | list[dict[str, Any]]) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


Reply: TypeAlias = Callable[[Seen], str]
Fault: TypeAlias = Callable[[Seen, asyncio.StreamWriter], Awaitable[None]]


def verdict(seen: Seen, **changed: Any) -> str:
    said = {
        "reason": "It fits.", "pass": True, "score": 0.8, "confidence": 0.9, "nonce": seen.nonce,
    }  # fmt: skip
    return json.dumps(said | changed)


def envelope(seen: Seen, text: str | None, stop: str | None = None) -> dict[str, Any]:
    """A juror's text in the JSON of the wire it was asked by."""
    if seen.native:
        return {
            "id": "msg_1", "model": seen.payload["model"], "type": "message", "role": "assistant",
            "content": [] if text is None else [{"type": "text", "text": text}],
            "stop_reason": stop or "end_turn",
            "usage": {"input_tokens": 120, "output_tokens": 40},
        }  # fmt: skip
    return {
        "id": "chat_1", "model": seen.payload["model"], "created": 1, "object": "chat.completion",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text},
                "finish_reason": stop or "stop",
            }
        ],
        "usage": {"prompt_tokens": 120, "completion_tokens": 40, "total_tokens": 160},
    }  # fmt: skip


def answer(
    status: int, body: bytes | str | dict[str, Any], headers: dict[str, str] | None = None
) -> bytes:
    if isinstance(body, dict):
        body = json.dumps(body)
    raw = body.encode() if isinstance(body, str) else body
    told = {"content-type": "application/json", "content-length": str(len(raw))} | (headers or {})
    lines = [f"HTTP/1.1 {status} Told", *(f"{name}: {value}" for name, value in told.items())]
    return "\r\n".join([*lines, "", ""]).encode() + raw


@dataclass
class Server:
    """Answers every request after ``latency`` seconds; ``calls`` are those that came in."""

    reply: Reply = verdict
    latency: float = 0.0
    fault: Fault | None = None
    calls: list[Seen] = field(default_factory=list)
    tls: ssl.SSLContext | None = None
    connections: int = 0
    _came: asyncio.Condition = field(default_factory=asyncio.Condition)
    _server: asyncio.Server | None = None
    _open: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def url(self) -> str:
        assert self._server
        scheme = "https" if self.tls else "http"
        return f"{scheme}://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(
            self._met, "127.0.0.1", 0, backlog=512, ssl=self.tls
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._server
        self._server.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def reached(self, count: int) -> None:
        async with self._came:
            await self._came.wait_for(lambda: len(self.calls) >= count)

    async def _met(self, source: asyncio.StreamReader, out: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._open.add(task)
        self.connections += 1
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                while not out.is_closing():
                    await self._served(source, out)
        except asyncio.CancelledError:
            pass
        finally:
            self._open.discard(task)
            out.close()
            with suppress(ConnectionError):
                await out.wait_closed()

    async def _served(self, source: asyncio.StreamReader, out: asyncio.StreamWriter) -> None:
        head = (await source.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in head[1:] if line)
        headers = {name.lower(): value.strip() for name, _, value in pairs}
        body = await _body(source, headers)
        seen = Seen(head[0].split()[1], headers, body)
        async with self._came:
            self.calls.append(seen)
            self._came.notify_all()
        if self.latency:
            await asyncio.sleep(self.latency)
        if self.fault is not None:
            await self.fault(seen, out)
        else:
            out.write(answer(200, envelope(seen, self.reply(seen))))
        await out.drain()


async def _body(source: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
    """A request's body, of a stated length or in chunks, as proxies send it."""
    if headers.get("transfer-encoding", "").lower() != "chunked":
        return await source.readexactly(int(headers.get("content-length", "0")))
    body = b""
    while size := int(await source.readline(), 16):
        body += (await source.readexactly(size + 2))[:-2]
    await source.readline()
    return body


async def _serve(latency: float) -> None:
    async with Server(latency=latency) as server:
        print(server.url, flush=True)  # noqa: T201 - who started it waits for the address
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_serve(float(sys.argv[1])))
