"""Many reviewers on one desk at once: each item goes to one of them, or to two that are asked."""

import os
from collections import Counter
from itertools import combinations
from pathlib import Path

import krippendorff
import numpy as np
import pytest

from reviewdesk.app.controllers.jobs import SAVING
from reviewdesk.desk.core import Desk
from reviewdesk.desk.review.edits import hurry
from reviewdesk.desk.team.agreement import team_page
from reviewdesk.domain.labels.team import is_double
from reviewdesk.domain.records import Item, Run, Truth
from reviewdesk.settings import Settings, Share
from reviewdesk.store.reviewers import author_labels
from reviewdesk.store.verdicts import by_key
from tests.app.builders import open_run, report, verdict
from tests.app.reviewkit import Review
from tests.helpers import spawn

_WORDS = ("label.pass", "label.pass", "label.fail", "label.unsure")


def word_of(item: str, reviewer: str) -> str:
    """What a reviewer thinks of an item: the same on every run, and of two people not always."""
    return _WORDS[(int(item[:8], 16) + (int(item[8:12], 16) + len(reviewer) * 7) % 3 // 2) % 4]


class Worker:
    def __init__(self, desk: Desk, double: float) -> None:
        settings = Settings(double=Share(double))
        self.review = Review(desk, desk.run(), settings=settings, claims=True)
        self.name, self.shown = desk.reviewer, 0
        # Here no thread saves while the next key comes: a key waits until its label is on disk.
        hurry(desk, 15)

    def label(self) -> bool:
        """Label the item in view; return False if none is held, and look for one a second later."""
        review = self.review
        item = review.session.item
        if item is None or item.row.decided or self.holder(item) != self.name:
            review.clock.wait(1)
            review.controller.poll()
            if item is None or item.row.decided:
                review.press("next")
            review.after()
            self.save()
            return False
        self.shown += 1
        review.quietly(word_of(item.item_hash, self.name))
        self.save()
        review.after()
        self.save()
        return True

    def save(self) -> None:
        """Save what waits for the lock, whose place in the line keeps others waiting."""
        while SAVING in self.review.runner.waiting:
            self.review.finish(SAVING)

    def holder(self, item: Item) -> str | None:
        """Who has claimed an item, by the table of the desk."""
        row = self.review.desk.conn.execute(
            "SELECT reviewer FROM claims WHERE item = ?", (bytes.fromhex(item.item_hash),)
        ).fetchone()
        return row["reviewer"] if row else None


def lone_stratum(count: int) -> list[dict[str, object]]:
    """Verdicts that are all passed and not flagged, so that the draw has one stratum."""
    return [verdict(i, (0.9, 0.8, 0.85), escalate_for_review=False) for i in range(1, count + 1)]


def labels_of(desk: Desk, run: Run) -> dict[bytes, dict[str, str]]:
    found: dict[bytes, dict[str, str]] = {}
    for key, author, label in author_labels(desk.conn, run.key):
        found.setdefault(by_key(desk.conn, key)["item"], {})[author] = label or ""
    return found


def kappa_by_hand(pairs: list[tuple[str, str]]) -> float:
    """Cohen's kappa: (observed - expected) / (1 - expected), expected from both margins."""
    n = len(pairs)
    observed = sum(one == two for one, two in pairs) / n
    first, second = Counter(one for one, _ in pairs), Counter(two for _, two in pairs)
    expected = sum(first[word] * second[word] for word in first) / n**2
    return (observed - expected) / (1 - expected)


def agrees_with_oracles(desk: Desk, run: Run) -> None:
    """Hold the page of the team against krippendorff's alpha and kappas by hand."""
    given, page = labels_of(desk, run), team_page(desk, run)
    names = sorted({name for said in given.values() for name in said})
    codes = {str(truth): code for code, truth in enumerate(Truth)}
    rated = [said for said in given.values() if len(said) > 1]
    table = [[codes.get(said.get(name, ""), np.nan) for said in rated] for name in names]
    alpha = krippendorff.alpha(reliability_data=table, level_of_measurement="nominal")
    assert page.items == len(rated)
    assert page.agreement.alpha.estimate == pytest.approx(alpha, abs=1e-9)
    pairs = {(one.one, one.two): one for one in page.agreement.pairs}
    for one, two in combinations(names, 2):
        both = [(said[one], said[two]) for said in rated if one in said and two in said]
        if len({*both}) > 1:
            found = pairs[one, two]
            assert found.n == len(both)
            assert found.raw.estimate == pytest.approx(sum(a == b for a, b in both) / len(both))
            assert found.kappa.estimate == pytest.approx(kappa_by_hand(both), abs=1e-9)


@pytest.mark.slow
def test_three_at_once_share_the_items(tmp_path: Path) -> None:
    share = 0.4
    desk, run = open_run(tmp_path / "d.db", report(lone_stratum(24)))
    others = [Desk.open(desk.path, reviewer=name) for name in ("bob", "cyd")]
    workers = [Worker(one, share) for one in (desk, *others)]
    idle = 0
    while idle < 9:
        for worker in workers:
            idle = 0 if worker.label() else idle + 1
    given = labels_of(desk, run)
    assert len(given) == 24
    assert {item: len(said) for item, said in given.items()} == {
        item: 1 + is_double(item, share) for item in given
    }
    assert sum(worker.shown for worker in workers) == sum(map(len, given.values()))
    agrees_with_oracles(Desk.open(desk.path), run)
    for one in (desk, *others):
        one.close()


WORK = """
import sys
from reviewdesk.desk.core import Desk
from tests.app.controllers.test_many_reviewers import Worker, labels_of
each, double, wanted = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
desk = Desk.open()
print("ready", flush=True)
sys.stdin.readline()
worker, idle = Worker(desk, double), 0
# Another process may hold the last item for long, so only the desk can tell that all is done.
while worker.shown < each and idle < 5000:
    idle = 0 if worker.label() else idle + 1
    if idle and sum(map(len, labels_of(desk, desk.run()).values())) == wanted:
        break
worker.review.press("quit")
print(worker.shown, flush=True)
desk.close()
"""


def at_once(path: Path, names: list[str], each: int, wanted: int, double: float = 0) -> list[int]:
    """Let processes label until the run has the labels wanted; return what each was shown."""
    given = str(each), str(double), str(wanted)
    workers = [spawn(WORK, path, name, *given) for name in names]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    said = [worker.communicate(timeout=1200) for worker in workers]
    assert [worker.returncode for worker in workers] == [0] * len(workers), said
    return [int(out) for out, _ in said]


@pytest.mark.slow
def test_eight_processes_share_the_items(tmp_path: Path) -> None:
    each, share = int(os.environ.get("LABELS_EACH", "20")), 0.05
    names = [f"reviewer-{i}" for i in range(8)]
    desk, run = open_run(tmp_path / "d.db", report(lone_stratum(8 * each)))
    assert at_once(desk.path, names, each, 8 * each) == [each] * 8
    given = labels_of(desk, run)
    # Nobody was shown what another had: every item has one label.
    assert len(given) == sum(map(len, given.values())) == 8 * each
    # Then a share of them gets a second opinion, each from one other person.
    doubles = sum(is_double(item, share) for item in given)
    shown = at_once(desk.path, names, each, 8 * each + doubles, share)
    given = labels_of(desk, run)
    assert sum(shown) == doubles
    assert {item: len(said) for item, said in given.items()} == {
        item: 1 + is_double(item, share) for item in given
    }
    assert desk.verify().ok
    agrees_with_oracles(desk, run)
