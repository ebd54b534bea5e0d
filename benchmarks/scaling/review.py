"""Rows about a review: pages of the queue, items, labels, figures after a label, and kernels."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter

import agreement
import numpy as np
import refresh

from reviewdesk.desk.core import Desk
from reviewdesk.desk.review import filters
from reviewdesk.domain.records import Run, Truth
from reviewdesk.domain.stats.alpha import AlphaState
from reviewdesk.domain.verdict import Strategy
from reviewdesk.domain.whatif import Panels, Variant, under
from reviewdesk.store import events, verdicts
from reviewdesk.store.connect import writing
from reviewdesk.store.events import NewEvent
from scaling import inputs, table
from scaling.measure import Row, cpu_of, in_ms, interleaved, quantile, seconds_of

QUERIES = (
    ("", "draw"), ("esc", "draw"), ("decision:fail", "draw"), ("juror:gpt-4o", "draw"),
    ("", "agreement"), ("", "-score"), ("test~rules-7 decision:fail", "margin"),
    ("text~nothing", "draw"),
)  # fmt: skip
"""Filters, orders and a search that are asked, each on its own."""
_PAGE, _LABELS = 50, 25


def queue_rows(folder: Path, count: int, rounds: int) -> Iterator[Row]:
    """Ask a desk for all ids of several filters and orders, and for the rows of a first page."""
    with closing(Desk.open(inputs.desk(folder, count), reviewer="ann")) as desk:
        run = desk.runs()[-1]
        filters.index(desk, run)
        taken: dict[str, list[float]] = {}
        for at in range(rounds + 1):
            for text, order in QUERIES:
                began = perf_counter()
                desk.rows(desk.queue(run, text, order)[:_PAGE])
                # The first round reads the columns, which the app does in the background.
                if at:
                    taken.setdefault(f"{text} by {order}".strip(), []).append(
                        perf_counter() - began
                    )
        middles = {name: median(one) for name, one in taken.items()}
        slowest = max(middles, key=middles.__getitem__)
        yield Row(
            f"all ids of {len(QUERIES)} filters, orders and searches on {count:,}",
            "<= 100 ms",
            f"{in_ms(median(middles.values()))}; the slowest, {slowest}: "
            f"{in_ms(middles[slowest])}",
            "",
        )  # fmt: skip
        dice = random.Random(1)
        keys = dice.choices(desk.queue(run), k=200)
        opened = [seconds_of(partial(desk.item, key)) for key in keys]
        yield Row(
            f"item opened at random in {count:,}", "p99 <= 16 ms",
            f"p50 {in_ms(median(opened))}, p99 {in_ms(quantile(opened, 0.99))}", "",
        )  # fmt: skip


def label_rows(folder: Path, count: int) -> Iterator[Row]:
    """Commit labels to a copy of a desk, in turns with bare appends to a file."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        copy = Path(name) / "desk.db"
        shutil.copy(inputs.desk(folder, count), copy)
        with (
            closing(Desk.open(copy, reviewer="ann")) as desk,
            (Path(name) / "log").open("ab") as log,
        ):
            keys = iter(desk.queue(desk.runs()[-1]))

            def label() -> float:
                key = next(keys)
                return seconds_of(lambda: desk.label(key, Truth.PASS))

            def append() -> float:
                began = perf_counter()
                log.write(b"x" * 300)
                log.flush()
                os.fdatasync(log.fileno())
                return perf_counter() - began

            found = interleaved({"append": append, "label": label}, min(100, count // 2))
    yield Row(
        "label committed, WAL and FULL, p50", "<= 1.6x",
        f"{found['label'] / found['append']:.2f}x, {in_ms(found['label'])}",
        f"append and fdatasync: {in_ms(found['append'])}",
    )  # fmt: skip


def kernel_row(count: int, rounds: int) -> Row:
    """Decide panels of five by two rules, and compute their alpha, as multiples of a copy."""
    found = agreement.panels(count, 1, missing=0.0)
    target = np.empty_like(found.scores)
    works: dict[str, Callable[[], object]] = {
        "copy": lambda: np.copyto(target, found.scores),
        "trimmed": lambda: under(Panels(found), Variant(Strategy.TRIMMED_MEAN)).decision,
        "quorum": lambda: under(Panels(found), Variant(Strategy.QUORUM)).decision,
        "alpha": lambda: AlphaState.of(found.scores.T).alpha,
    }
    taken = interleaved({name: cpu_of(work) for name, work in works.items()}, max(9, rounds))
    ratios = [f"{taken[name] / taken['copy']:.2g}x" for name in ("trimmed", "quorum", "alpha")]
    return Row(
        f"{count:,} x 5: trimmed mean / quorum / interval alpha, CPU", "<= 4x / 1x / 15x",
        " / ".join(ratios), f"a copy of the matrix of scores: {in_ms(taken['copy'])}",
    )  # fmt: skip


def cost_per_label(folder: Path, sizes: list[int]) -> Iterator[tuple[int, str, str]]:
    """Measure one label with its figures on desks of many sizes: the first, and after many."""
    for size in sizes:
        with tempfile.TemporaryDirectory(dir=folder) as name:
            copy = Path(name) / "desk.db"
            shutil.copy(inputs.desk(folder, size), copy)
            with closing(Desk.open(copy, reviewer="ann")) as desk:
                run, strip = desk.runs()[-1], refresh.LiveStrip()
                keys = desk.queue(run)
                first = _one_label(desk, run, strip, keys[:_LABELS])
                _label_many(desk, run, keys[: table.MOST_LABELS])
                refresh.followed(strip, desk, run)
                yield size, first, _one_label(desk, run, strip, keys[-_LABELS:])


def _one_label(desk: Desk, run: Run, strip: refresh.LiveStrip, keys: Sequence[int]) -> str:
    taken = []
    for key in keys:
        began = perf_counter()
        desk.label(key, Truth.PASS, blind=False)
        refresh.followed(strip, desk, run)
        taken.append(perf_counter() - began)
    return in_ms(median(taken))


def _label_many(desk: Desk, run: Run, keys: Sequence[int]) -> None:
    """Label many verdicts, a thousand in a transaction."""
    at = desk.at()
    for start in range(0, len(keys), 1_000):
        found = (verdicts.by_key(desk.conn, key) for key in keys[start : start + 1_000])
        entries = [
            NewEvent("label", at, run.hash, row["id"], row["item"], Truth.FAIL) for row in found
        ]
        with writing(desk.conn):
            events.append(desk.conn, desk.reviewer, entries)
