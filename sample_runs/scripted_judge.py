"""A judge on this machine that needs no key: it answers panels by a script, and has two weaknesses.

It sees whether an answer states the number of its rule, and gives in to a long answer with a wrong
number, or to a polite one without any, unless its prompt says that this does not count. The same
question always gets the same answer. It listens on the loopback address alone, and ends after an
hour without a question.

    python3 sample_runs/scripted_judge.py
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT = 8737
LONG = 160
HOUR = 3600
_PARTS = re.compile(r"<(input|response)-(\w+)>\n(.*?)\n</\1-\2>", re.DOTALL)
_NUMBER = re.compile(r"\d+")


def verdict(model: str, told: str, rule: str, response: str) -> tuple[bool, str]:
    """Return whether the response passes, and why; ``told`` is the prompt without the case."""

    def chance(word: str, who: str = model) -> float:
        text = f"{who}|{word}|{response}"
        return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16) / 0xFFFFFFFF

    stated = set(_NUMBER.findall(response))
    right = bool(stated) and stated <= set(_NUMBER.findall(rule))
    # A few answers deceive every juror.
    if chance("slip", "all") < 0.05:
        return not right, "At first sight it looks like that."
    if right and re.search(r"\bstrict", told) and chance("strict") < 0.4:
        return False, "It could say more than it does."
    if right:
        return True, "It states what the rule says."
    if not stated:
        lenient = not re.search(r"\b(no answer|without an answer|elsewhere)\b", told)
        if lenient and chance("polite") < 0.9:
            return True, "It is polite and promises help."
        return False, "It does not answer the question."
    if len(response) > LONG and not re.search(r"\blength\b", told) and chance("long") < 0.9:
        return True, "It is thorough and friendly."
    return False, "Its number is not the number of the rule."


class _Answers(BaseHTTPRequestHandler):
    """Answers one question in the form of chat completions."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        system, user = (str(turn["content"]) for turn in asked["messages"])
        parts = {name: text for name, _, text in _PARTS.findall(user)}
        # The system prompt that every panel has by default does not impress this judge.
        own = system.partition("\n\nThe message that follows")[0]
        told = user[: user.find("<input-")] + ("" if own.endswith("strict JSON.") else own)
        passed, reason = verdict(
            asked["model"], told.lower(), parts.get("input", ""), parts["response"]
        )
        (*_, nonce) = re.findall(r'"nonce": "([^"]+)"', user)
        said = {"reason": reason, "pass": passed, "score": 0.9 if passed else 0.1}
        content = json.dumps({**said, "confidence": 0.9, "nonce": nonce})
        message = {"role": "assistant", "content": content}
        body = {
            "id": "scripted", "object": "chat.completion", "created": 0, "model": asked["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": len(user) // 4, "completion_tokens": len(content) // 4},
        }  # fmt: skip
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_args: object) -> None:
        """Write nothing for each question."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    timeout = HOUR
    idle = False

    def handle_timeout(self) -> None:
        self.idle = True


def main() -> None:
    """Answer until an hour passes without a question."""
    with _Server(
        ("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else PORT), _Answers
    ) as server:
        sys.stdout.write(f"listening on http://127.0.0.1:{server.server_port}/v1\n")
        sys.stdout.flush()
        while not server.idle:
            server.handle_request()


if __name__ == "__main__":
    main()
