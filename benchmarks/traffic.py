"""Set `judge` beside cross-judge and promptfoo: 40 cases, five jurors, 300 ms, one local server.

Each tool asks the same server, first as fast as it likes, then behind a limiter that names its wait
in a 429. It prints wall time, CPU time and lost ballots, as figures and as multiples of ours;
``--write`` puts the table into docs/reference/measured.md. The peers are installed into
``--folder``: cross-judge 0.1.0 in a virtual environment, promptfoo by npx. A peer that does not
install or run is listed with the reason.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, perf_counter
from urllib.parse import urlsplit

from judge import JURORS, prepared
from scaling.table import PAGE, machine, write

ROOT = Path(__file__).resolve().parent.parent

_CROSS_JUDGE = """
import json, sys
from cross_judge import Critic, Ensemble
url, cases, jurors = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
critics = [Critic(name=f"j{i}", model=f"m{i}", vendor="custom", base_url=url, api_key="none")
           for i in range(jurors)]
ensemble = Ensemble(critics=critics)
found = [ensemble.judge(f"question {at}: answer {at} " * 50) for at in range(cases)]
print(json.dumps({"lost": sum(one.error is not None for all in found for one in all.verdicts)}))
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one tool took, and how many ballots it lost; ``problem`` if it did not run."""

    tool: str
    wall: float = 0.0
    cpu: float = 0.0
    lost: int = 0
    problem: str = ""


@contextmanager
def server(latency: float, limit: int, window: float) -> Iterator[str]:
    """Yield the address of a server in a process of its own; a ``limit`` of 0 admits everything."""
    command = [sys.executable, __file__, "--serve", str(latency), str(limit), str(window)]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as started:
        yield (started.stdout or sys.stdin).readline().strip()
        started.terminate()


async def serve(latency: float, limit: int, window: float) -> None:
    """Answer in the form that each tool asks for, and refuse what a window has no room for."""
    sys.path.insert(0, str(ROOT))
    from tests.live.server import Seen, Server, answer, envelope, verdict

    began, count, refused = -window, 0, 0

    def reply(seen: Seen) -> str:
        if '"nonce"' in seen.user:
            return verdict(seen)
        return json.dumps({"kind": "KEEP", "confidence": 0.9, "reasoning": "It fits.",
                           "pass": True, "score": 0.8, "reason": "It fits."})  # fmt: skip

    async def admit(seen: Seen, out: asyncio.StreamWriter) -> None:
        nonlocal began, count, refused
        if not seen.body:  # proxies look whether somebody is there, and ``refusals`` asks
            out.write(answer(404, {"refused": refused}))
            return
        now = monotonic()
        if now >= began + window:
            began, count = now, 0
        count += 1
        if limit and count > limit:
            refused += 1
            left = {"retry-after": str(int(began + window - now) + 1)}
            out.write(answer(429, {"error": {"message": "slow down"}}, left))
        else:
            out.write(answer(200, envelope(seen, reply(seen))))

    async with Server(latency=latency, fault=admit) as running:
        print(running.url, flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


def refusals(url: str) -> int:
    """Return how many requests the server has refused so far."""
    with closing(http.client.HTTPConnection(urlsplit(url).netloc)) as asked:
        asked.request("GET", "/")
        return int(json.loads(asked.getresponse().read())["refused"])


def run(tool: str, command: Sequence[str], folder: Path) -> tuple[Cost, str]:
    """Run a command; return its costs, and what it printed."""
    with (folder / "out.txt").open("w+") as out, (folder / "err.txt").open("w+") as errors:
        began = perf_counter()
        process = subprocess.Popen(command, cwd=folder, stdout=out, stderr=errors, env=_quiet())
        _, status, used = os.wait4(process.pid, 0)
        wall = perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        errors.seek(0)
        text, told = out.read(), errors.read()
    problem = "" if process.returncode in {0, 100} else " ".join(told.split())[-200:] or "failed"
    return Cost(tool, wall, used.ru_utime + used.ru_stime, problem=problem), text


def _quiet() -> dict[str, str]:
    return os.environ | {
        "OPENAI_API_KEY": "none", "PROMPTFOO_DISABLE_TELEMETRY": "1",
        "PROMPTFOO_DISABLE_UPDATE": "1", "PYTHONPATH": str(ROOT),
    }  # fmt: skip


def ours(url: str, cases: int, concurrency: int) -> Cost:
    """Judge with reviewdesk."""
    with tempfile.TemporaryDirectory() as fresh:
        folder = Path(fresh)
        command = prepared(folder, url, cases)
        more = ["--concurrency", str(concurrency), "--max-failed", "100%"]
        cost, text = run("reviewdesk", [*command, *more], folder)
        lost = 0 if cost.problem else json.loads(text)["failed_ballots"]
        return Cost(cost.tool, cost.wall, cost.cpu, lost, cost.problem)


def cross_judge(python: Path, url: str, cases: int) -> Cost:
    """Judge with cross-judge's Ensemble, which asks one critic after the other."""
    with tempfile.TemporaryDirectory() as fresh:
        command = [str(python), "-c", _CROSS_JUDGE, url, str(cases), str(JURORS)]
        cost, text = run("cross-judge 0.1.0", command, Path(fresh))
        lost = 0 if cost.problem else json.loads(text)["lost"]
        return Cost(cost.tool, cost.wall, cost.cpu, lost, cost.problem)


def promptfoo(command: Sequence[str], url: str, cases: int, concurrency: int) -> Cost:
    """Judge with promptfoo: an echo as the answer, and one llm-rubric for each juror."""
    graders = [
        {"type": "llm-rubric", "value": "is right",
         "provider": {"id": f"openai:chat:m{at}", "config": {"apiBaseUrl": url}}}
        for at in range(JURORS)
    ]  # fmt: skip
    tests = [{"vars": {"q": f"question {at}"}, "assert": graders} for at in range(cases)]
    told = {"prompts": ["{{q}}: answer " + "word " * 200], "providers": ["echo"], "tests": tests}
    with tempfile.TemporaryDirectory() as fresh:
        folder = Path(fresh)
        (folder / "promptfooconfig.json").write_text(json.dumps(told))
        options = ["eval", "-c", "promptfooconfig.json", "-o", "found.json", "--no-cache",
                   "--no-progress-bar", "--no-table", "-j", str(concurrency)]  # fmt: skip
        cost, _ = run("promptfoo", [*command, *options], folder)
        made = folder / "found.json"
        if cost.problem or not made.exists():
            return Cost(cost.tool, problem=cost.problem or "it wrote no results")
        rows = json.loads(made.read_text())["results"]["results"]
        graded = [one for row in rows for one in _grades(row)]
        return Cost(cost.tool, cost.wall, cost.cpu, cases * JURORS - sum(graded))


def _grades(row: dict[str, object]) -> list[bool]:
    found = row.get("gradingResult")
    parts = found.get("componentResults") if isinstance(found, dict) else None
    return [bool(part.get("pass")) for part in parts or [] if isinstance(part, dict)]


def installed(folder: Path) -> tuple[Path | None, list[str] | None, list[str]]:
    """Install the peers; return cross-judge's Python, promptfoo's command, and what failed."""
    failed = []
    python: Path | None = folder / "venv" / "bin" / "python"
    if not (folder / "venv").exists():
        for command in (
            [sys.executable, "-m", "venv", str(folder / "venv")],
            [str(python), "-m", "pip", "install", "-q", "cross-judge==0.1.0"],
        ):
            if subprocess.run(command, capture_output=True, check=False).returncode:
                failed.append(f"cross-judge 0.1.0: `{command[-1]}` did not install")
                python = None
                break
    found: list[str] | None = ["npx", "--yes", "--prefix", str(folder), "promptfoo"]
    try:
        asked = subprocess.run(
            [*(found or []), "--version"], capture_output=True, text=True, check=False, timeout=600
        )
        if asked.returncode:
            failed.append(f"promptfoo: {' '.join(asked.stderr.split())[-160:]}")
            found = None
    except (OSError, subprocess.TimeoutExpired) as error:
        failed.append(f"promptfoo: {type(error).__name__}")
        found = None
    return python, found, failed


def table(title: str, costs: Sequence[Cost]) -> list[str]:
    """Return one scenario as rows of a Markdown table, with multiples of our own figures."""
    ours = costs[0]
    rows = [f"| {title} | wall | CPU | lost ballots |", "|---|---|---|---|"]
    for one in costs:
        if one.problem:
            rows.append(f"| {one.tool} | did not run: {one.problem} | | |")
            continue
        wall = f"{one.wall:.1f} s ({one.wall / ours.wall:.1f}x)"
        rows.append(
            f"| {one.tool} | {wall} | {one.cpu:.1f} s ({one.cpu / ours.cpu:.1f}x) | {one.lost} |"
        )
    return [*rows, ""]


def main() -> None:
    """Measure every tool in both scenarios, print the tables, and write them if asked to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", type=int, default=40)
    parser.add_argument("--latency", type=float, default=0.3)
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--limit", type=int, default=60, help="requests in a window")
    parser.add_argument("--window", type=float, default=10.0, help="seconds of a window")
    parser.add_argument("--folder", type=Path, help="where the peers are installed and kept")
    parser.add_argument("--serve", nargs=3, type=float, help=argparse.SUPPRESS)
    parser.add_argument("--write", action="store_true", help=f"put the tables into {PAGE.name}")
    given = parser.parse_args()
    if given.serve:
        latency, limit, window = given.serve
        asyncio.run(serve(latency, int(limit), window))
        return
    with tempfile.TemporaryDirectory() as fresh:
        folder = (given.folder or Path(fresh)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        python, node, failed = installed(folder)
        text = [
            f"{machine()}; {given.cases} cases, {JURORS} jurors, {given.latency:g} s a call.",
            "",
        ]
        limited = f"{given.limit} requests in {given.window:g} s"
        for title, limit in (("without a limit", 0), (limited, given.limit)):
            costs = []
            with server(given.latency, limit, given.window) as url:
                costs.append(ours(url, given.cases, given.concurrency))
                if limit and not refusals(url):
                    raise SystemExit("the limiter refused nothing")
                costs += [cross_judge(python, url, given.cases)] if python else []
                costs += [promptfoo(node, url, given.cases, given.concurrency)] if node else []
            text += table(title, costs)
    text += [f"Not measured: {one}." for one in failed]
    print("\n".join(text))
    if given.write:
        write("\n".join(text).strip(), "traffic")


if __name__ == "__main__":
    main()
