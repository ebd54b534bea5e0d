"""Try `judge` against LiteLLM's proxy, aimock and llmock, and print a table of what was answered.

LiteLLM's proxy and aimock stand in front of a local server that answers as a juror does. The proxy
admits so many requests a minute; aimock answers some requests with a 429, an error or a broken
body. llmock answers every request with placeholder text, which must count as no verdict. A row
counts only if its condition occurred: the limiter did refuse, bodies were broken, text came. Else
the command says so, ends with 1 and writes nothing. They are installed into ``--folder`` by
``pip install 'litellm[proxy]'`` in a virtual environment and by ``npm install @copilotkit/aimock
llmock``; ``--write`` puts the table into docs/reference/measured.md.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from judge import JURORS, prepared
from scaling.table import PAGE, machine, write
from traffic import run, server

STARTING = 120.0
"""Seconds in which a server has to open its port."""
RATE = 12
"""The requests a minute that LiteLLM's proxy admits of each model: fewer than there are cases."""


@dataclass(slots=True)
class Asked:
    """What became of the requests to an endpoint and of the ballots; ``problem`` if it failed."""

    problem: str = ""
    ballots: int = 0
    answered: int = 0
    requests: int = 0
    refused: int = 0
    failed: int = 0
    lost: dict[str, int] = field(default_factory=dict)

    @property
    def row(self) -> str:
        """The cells of the table."""
        if self.problem:
            return f"{self.problem} | | |"
        counts = f"{self.refused} were 429, {self.failed} failed otherwise"
        lost = ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in self.lost.items())
        sent = f"{self.requests} requests: {counts}"
        return f"{self.answered} of {self.ballots} | {sent} | {lost or '0'} |"


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def started(command: Sequence[str], folder: Path, port: int) -> Iterator[str]:
    """Start a server; yield what is wrong with it once its port is open, or nothing."""
    with (folder / "server.txt").open("w+") as said:
        try:
            process = subprocess.Popen(
                command, cwd=folder, stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                env=os.environ | {"OPENAI_API_KEY": "none", "NO_PROXY": "127.0.0.1"},
            )  # fmt: skip
        except OSError as error:
            yield f"did not start: {error.strerror}"
            return
        try:
            ends = time.monotonic() + STARTING
            while not _is_open(port) and process.poll() is None and time.monotonic() < ends:
                time.sleep(0.2)
            said.seek(0)
            yield "" if _is_open(port) else f"did not start: {' '.join(said.read().split())[-160:]}"
        finally:
            process.terminate()
            process.wait(20)


def _is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def judged(url: str, cases: int) -> Asked:
    """Judge cases against an endpoint, and count what was sent, answered and lost."""
    with tempfile.TemporaryDirectory() as fresh:
        folder = Path(fresh)
        command = [*prepared(folder, url, cases), "--max-failed", "100%"]
        cost, text = run("reviewdesk", command, folder)
        if cost.problem:
            return Asked(f"ended with: {cost.problem}")
        jurors = json.loads(text)["jurors"]
        with closing(sqlite3.connect(folder / "report.jsonl.replies.db")) as journal:
            statuses = [row[0] for row in journal.execute("SELECT status FROM replies")]
    found = Asked(ballots=cases * JURORS, requests=len(statuses))
    found.answered = sum(one["answered"] for one in jurors)
    found.refused = statuses.count(429)
    found.failed = len(statuses) - found.refused - statuses.count(200)
    for one in jurors:
        for kind, count in one["why"].items():
            found.lost[kind] = found.lost.get(kind, 0) + count
    return found


def limited(found: Asked) -> Asked:
    """Return the counts, or say that the limiter never acted."""
    return found if found.problem or found.refused else Asked("the limiter refused nothing")


def litellm(folder: Path, upstream: str, cases: int) -> Asked:
    """Judge through LiteLLM's proxy, which admits so many requests a minute of each model."""
    venv = folder / "litellm"
    if not venv.exists():
        subprocess.run([sys.executable, "-m", "venv", venv], check=False)
        pip = [venv / "bin" / "python", "-m", "pip", "install", "-q", "litellm[proxy]"]
        subprocess.run(pip, check=False)
    port = free_port()
    models = [
        {"model_name": f"m{at}",
         "litellm_params": {"model": f"openai/m{at}", "api_base": upstream, "api_key": "none",
                            "rpm": RATE}}
        for at in range(JURORS)
    ]  # fmt: skip
    strict = {"optional_pre_call_checks": ["enforce_model_rate_limits"], "num_retries": 0}
    keyless = {"dangerously_permit_weak_or_unset_master_key": True}  # it listens here alone
    config = {"model_list": models, "router_settings": strict, "general_settings": keyless}
    (folder / "litellm.yaml").write_text(json.dumps(config))
    command = [
        str(venv / "bin" / "litellm"),
        "--config",
        "litellm.yaml",
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
    ]
    with started(command, folder, port) as problem:
        return Asked(problem) if problem else limited(judged(f"http://127.0.0.1:{port}/v1", cases))


def aimock(folder: Path, upstream: str, cases: int) -> Asked:
    """Judge through aimock, which refuses a fifth of the requests and breaks a tenth."""
    port = free_port()
    (folder / "fixtures").mkdir(exist_ok=True)
    script = folder / "node_modules" / "@copilotkit" / "aimock" / "dist" / "cli.js"
    command = [
        "node", str(script), "--port", str(port), "--proxy-only",
        "--fixtures", "fixtures", "--provider-openai", upstream.removesuffix("/v1"),
        "--chaos-ratelimit", "0.2", "--chaos-drop", "0.05", "--chaos-disconnect", "0.05",
        "--log-level", "warn",
    ]  # fmt: skip
    with started(command, folder, port) as problem:
        if problem:
            return Asked(problem)
        found = limited(judged(f"http://127.0.0.1:{port}/v1", cases))
        return found if found.problem or found.failed else Asked("no body was broken")


def llmock(folder: Path, upstream: str, cases: int) -> Asked:
    """Judge by llmock, whose replies are placeholder text."""
    del upstream
    port = free_port()
    script = folder / "node_modules" / "llmock" / "bin" / "llmock.js"
    command = ["node", str(script), "start", "--foreground", f"--port={port}",
               "--validateRequests=false", "--delayMin=50", "--delayMax=100"]  # fmt: skip
    with started(command, folder, port) as problem:
        if problem:
            return Asked(problem)
        found = judged(f"http://127.0.0.1:{port}/chatgpt", cases)
        came = found.requests - found.refused - found.failed
        return found if found.problem or came else Asked("no text came")


ENDPOINTS = {
    f"LiteLLM's proxy, {RATE} a minute of each model": litellm,
    "aimock, a fifth 429 and a tenth broken": aimock,
    "llmock, placeholder text": llmock,
}


def main() -> None:
    """Try each endpoint, print the table, and write it if asked to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", type=int, default=20)
    parser.add_argument("--folder", type=Path, help="where the servers are installed and kept")
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE.name}")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as fresh, server(0.05, 0, 1) as upstream:
        folder = (given.folder or Path(fresh)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / "node_modules").exists():
            npm = ["npm", "install", "--no-audit", "--no-fund", "@copilotkit/aimock", "llmock"]
            subprocess.run(npm, cwd=folder, check=False, capture_output=True)
        results = {
            name: measure(folder, upstream, given.cases) for name, measure in ENDPOINTS.items()
        }
    rows = [
        f"{machine()}; {given.cases} cases, {JURORS} jurors.", "",
        "| endpoint | answered | sent | lost ballots |", "|---|---|---|---|",
        *(f"| {name} | {found.row}" for name, found in results.items()),
    ]  # fmt: skip
    print("\n".join(rows))
    if any(found.problem for found in results.values()):
        sys.exit(1)
    if given.write:
        write("\n".join(rows), "endpoints")


if __name__ == "__main__":
    main()
