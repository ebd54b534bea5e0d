"""Print how large the product is: lines and tokens by room, tests, and what the review imports.

    python benchmarks/size.py

Lines are all lines of every tracked file of ``reviewdesk/``. Tokens are those of Python's tokenizer
without comments and layout; a docstring is one token. The import closure is every module of ours
that ``open``, a label and ``calibrate`` can reach, through imports inside functions too.
"""

from __future__ import annotations

import ast
import io
import subprocess
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STARTS = ("reviewdesk.cli.program", "reviewdesk.cli.review", "reviewdesk.cli.labels",
          "reviewdesk.cli.figures")  # fmt: skip
"""The modules of the commands that open a desk, label and calibrate."""
_LAYOUT = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENCODING, tokenize.ENDMARKER,
}  # fmt: skip


@dataclass
class Size:
    """What a group of files comes to; ``packed`` counts assignments of the form ``a, b = x, y``."""

    files: int = 0
    lines: int = 0
    tokens: int = 0
    packed: int = 0

    def add(self, path: Path) -> None:
        """Count a file; one that is not Python counts its lines."""
        data = path.read_bytes()
        self.files += 1
        self.lines += data.count(b"\n")
        if path.suffix == ".py":
            found = tokenize.tokenize(io.BytesIO(data).readline)
            self.tokens += sum(token.type not in _LAYOUT for token in found)
            self.packed += sum(map(_is_packed, ast.walk(ast.parse(data))))

    @classmethod
    def of(cls, paths: list[Path]) -> Size:
        """Return the size of some files together."""
        size = cls()
        for path in paths:
            size.add(path)
        return size


def _is_packed(node: ast.AST) -> bool:
    if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Tuple):
        return False
    return isinstance(node.value, ast.Tuple)


def tracked(folder: str) -> list[Path]:
    """Return the files below a folder that git tracks."""
    command = ["git", "ls-files", "-z", folder]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    names = filter(None, found.stdout.split("\0"))
    return sorted(path for path in (ROOT / name for name in names) if path.exists())


def product_by_room() -> dict[str, Size]:
    """Return the size of each folder of ``reviewdesk/``; ``.`` has the files beside them."""
    rooms: defaultdict[str, Size] = defaultdict(Size)
    for path in tracked("reviewdesk"):
        parts = path.relative_to(ROOT / "reviewdesk").parts
        rooms[parts[0] if len(parts) > 1 else "."].add(path)
    return dict(sorted(rooms.items()))


def closure(starts: tuple[str, ...] = STARTS) -> list[Path]:
    """Return the files of all modules of ours that can be imported from some modules on."""
    known = {_module(path): path for path in tracked("reviewdesk") if path.suffix == ".py"}
    found: set[str] = set()
    waiting = list(starts)
    while waiting:
        name = waiting.pop()
        if name in found or name not in known:
            continue
        found.add(name)
        waiting.append(name.rpartition(".")[0])
        waiting.extend(_imports(known[name]))
    return sorted(known[name] for name in found)


def _module(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def main() -> None:
    """Print the tables."""
    rooms = product_by_room()
    product = Size.of(tracked("reviewdesk"))
    print(f"{'room':12} {'files':>6} {'lines':>8} {'tokens':>9} {'packed':>7}")
    for name, size in [*rooms.items(), ("product", product)]:
        print(f"{name:12} {size.files:6,} {size.lines:8,} {size.tokens:9,} {size.packed:7,}")
    tests = Size.of(tracked("tests"))
    print(f"\ntests: {tests.lines:,} lines, {tests.lines / product.lines:.2f} of the product")
    reached = Size.of(closure())
    print(f"open, label and calibrate can import {reached.files:,} files, {reached.lines:,} lines")


if __name__ == "__main__":
    main()
