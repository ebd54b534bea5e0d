"""How near `judge` comes to what concurrency and latency allow: 200 cases, five jurors, 500 ms.

The server is a process of its own and answers every call after a fixed time; the command is started
as a user starts it. The share reached is the calls per second over concurrency divided by latency:
of the run as the command tells it, and of the whole process with its start.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).resolve().parent.parent
JURORS = 5


def main() -> None:
    """Start server and command, and print both shares."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--cases", type=int, default=200)
    asked.add_argument("--latency", type=float, default=0.5)
    asked.add_argument("--concurrency", type=int, default=64)
    given = asked.parse_args()
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.live.server", str(given.latency)],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with server, tempfile.TemporaryDirectory() as folder:
        if server.stdout is None:
            raise RuntimeError("the server has no output")
        command = prepared(Path(folder), server.stdout.readline().strip(), given.cases)
        began = perf_counter()
        done = subprocess.run(
            [*command, "--concurrency", str(given.concurrency)],
            cwd=ROOT, check=True, capture_output=True, text=True,
        )  # fmt: skip
        seconds = perf_counter() - began
        server.kill()
    told = json.loads(done.stdout)
    possible = given.concurrency / given.latency
    print(f"{told['calls']} calls, {told['verdicts']} verdicts, {possible:g} calls/s possible")
    print(f"run: {told['rate']:.1f} calls/s, {told['rate'] / possible:.1%}")
    print(
        f"process: {told['calls'] / seconds:.1f} calls/s, {told['calls'] / seconds / possible:.1%}"
    )


def prepared(folder: Path, url: str, count: int) -> list[str]:
    """Cases and panel in a folder, and the command that judges them."""
    rows = (
        {"id": f"c{at}", "input": f"question {at}", "output": f"answer {at} " * 100}
        for at in range(count)
    )
    (folder / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    jurors = "".join(
        f"  - {{name: j{seat}, model: m{seat}, vendor: custom, base_url: '{url}'}}\n"
        for seat in range(JURORS)
    )
    (folder / "panel.yaml").write_text(f"name: five\nrubric: is right\njurors:\n{jurors}")
    return [
        sys.executable, "-m", "reviewdesk", "judge", str(folder / "cases.jsonl"),
        "--panel", str(folder / "panel.yaml"), "-o", str(folder / "report.jsonl"),
        "--yes", "--json",
    ]  # fmt: skip


if __name__ == "__main__":
    main()
