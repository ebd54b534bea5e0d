"""``improve``: from a sample's labels to an adopted panel, and what is refused on the way."""

from pathlib import Path

import pytest

from tests.cli.conftest import Cli, once
from tests.helpers import SAMPLES

RUN = ("--run", "library-desk")


@pytest.fixture
def desk(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """The command line in a folder with a panel file, on a desk with forty labels of a file."""
    monkeypatch.chdir(tmp_path)
    sample = SAMPLES / "library-desk.jsonl"

    def make() -> None:
        assert cli("ingest", sample).code == 0
        assert cli("labels", "import", SAMPLES / "library-desk-truth.jsonl", *RUN).code == 0
        assert cli("panel", "new", "p.yaml", "--from", sample).code == 0

    once(tmp_path, "improve", make)
    return cli


@pytest.mark.slow
def test_from_labels_to_an_adopted_panel(desk: Cli) -> None:
    assert "No split yet" in desk("improve").out
    # A panel file is read although there is nothing to tell of it yet.
    assert desk("improve", "--panel", "gone.yaml").code == 2
    Path("p+same.yaml").write_bytes(Path("p.yaml").read_bytes())
    assert "not split yet" in desk("improve", "try", "p+same.yaml").err
    assert desk("improve", "split").code == 2  # the labels of a file do not say that they are blind
    split = desk("improve", "split", "--open", "--json").json
    assert (split["tuning"], split["holdout"], split["tries"]) == (20, 20, [])
    # A person who reads which items of the holdout are wrong tunes on them, however he asks.
    lists = {
        name: [row["id"] for row in desk("queue", "--filter", name, "--json").json]
        for name in (
            "wrong",
            "(decision:pass label:fail)|(decision:fail label:pass)",
            "label:fail|label:pass !(decision:pass label:pass) !(decision:fail label:fail)",
            "label:tuning",
            "label:holdout label:pass|label:fail",
            "label:pass|label:fail",
        )
    }
    wrong, sides, rest, tuning, holdout, labelled = lists.values()
    assert wrong == sides == rest
    assert {*wrong} < {*labelled} == {*tuning}
    assert len(holdout) == 20
    shown = desk("queue", "--filter", "label:pass|label:fail", "--json")
    assert "20 items of the holdout are left out" in shown.err
    page = desk("improve", "--panel", "p.yaml", "--json").json
    # The panel errs on 7 of 40 items, and the halves are balanced by label and decision.
    assert page["false_passes"] + page["false_fails"] + page["right"] == 20
    assert {"", "examples"} <= {one["change"] for one in page["changes"]}
    made = desk("improve", "make", "threshold=0.7", "--panel", "p.yaml", "--json").json
    assert made["candidate"] == "p+threshold-0.7.yaml"
    assert {"-threshold: 0.5", "+threshold: 0.7"} <= set(made["diff"])
    before = Path("p.yaml").read_bytes()
    told = desk("improve", "try", made["candidate"], "--json").json
    assert told.keys() == {"verdict", "tries", "items", "smallest_gain"}
    assert (told["verdict"], told["tries"], told["items"]) == ("not shown", 1, 20)
    assert desk("improve", "adopt", made["candidate"]).code == 2
    adopted = desk("improve", "adopt", made["candidate"], "--anyway", "--json").json
    assert Path(adopted["kept"]).read_bytes() == before
    assert b"threshold: 0.7" in Path("p.yaml").read_bytes()
    (line,) = desk("improve", "--json").json["adopted"]
    assert (line["parent"], line["candidate"]) == (adopted["parent"], adopted["candidate"])
    assert "spent" in desk("improve", "try", "p+threshold-0.7.yaml").err
    assert desk("desk", "verify").code == 0


def test_a_draft_is_edited_in_an_editor(desk: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    desk("improve", "split", "--open")
    assert "no terminal for an editor" in desk("improve", "edit", "--panel", "p.yaml").err
    seen: list[str] = []
    saved: list[str | None] = [None, "", "Each statement"]

    def editor(text: str, _suffix: str) -> str | None:
        seen.append(text)
        new = saved[len(seen) - 1]
        return None if new is None else text.replace("Every statement", new or "Every statement")

    monkeypatch.setattr("reviewdesk.cli.improve.can_ask", lambda: True)
    monkeypatch.setattr("reviewdesk.cli.improve.edited", editor)
    assert "saved nothing" in desk("improve", "edit", "--panel", "p.yaml").err
    assert "# The wrong items of the tuning half follow" in seen[0]
    assert "people say" in seen[0]
    same = desk("improve", "edit", "--panel", "p.yaml")
    assert (same.code, "nothing differs" in same.err) == (2, True)
    done = desk("improve", "edit", "--panel", "p.yaml")
    assert "p+edit.yaml: trying it asks both panels again" in done.out
    assert "people say" not in Path("p+edit.yaml").read_text(encoding="utf-8")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    assert "a try asks every juror of both panels" in desk("improve", "try", "p+edit.yaml").err
    for vendor in ("ANTHROPIC", "OPENAI", "GEMINI"):
        monkeypatch.setenv(f"{vendor}_API_KEY", "key-of-nobody")
    refused = desk("improve", "try", "p+edit.yaml")
    assert (refused.code, "no terminal to ask on" in refused.err) == (2, True)


def test_what_is_refused(desk: Cli) -> None:
    desk("improve", "split", "--open")
    for name in ("alone.yaml", "p+same.yaml"):
        Path(name).write_bytes(Path("p.yaml").read_bytes())
    for arguments, says in (
        (("make", "threshold=7", "--panel", "p.yaml"), "a number from 0 to 1"),
        (("make", "threshold=0.5", "--panel", "p.yaml"), "nothing differs"),
        (("make", "examples", "--panel", "gone.yaml"), "gone.yaml"),
        (("try", "alone.yaml"), "no parent"),
        (("try", "p+same.yaml"), "decides as its parent does"),
        (("adopt", "p+gone.yaml"), "p+gone.yaml"),
        (("adopt", "."), "is a directory"),
    ):
        found = desk("improve", *arguments)
        assert (found.code, says in found.err) == (2, True), (arguments, found.err)
