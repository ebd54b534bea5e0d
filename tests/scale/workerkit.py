"""The processes of the workers that a command has started on this machine."""

import subprocess


def worker_processes(command: int) -> list[int]:
    """Return the ids of the workers that a command has started, given its own id."""
    listed = subprocess.run(
        ["ps", "-A", "-o", "pid=", "-o", "ppid=", "-o", "args="],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = (line.split(maxsplit=2) for line in listed.stdout.splitlines())
    return [int(pid) for pid, parent, *args in found if int(parent) == command and _is_worker(args)]


def _is_worker(args: list[str]) -> bool:
    return "multiprocessing.spawn" in "".join(args)
