"""The types that reports are read by stand in for the models, which a clean report never builds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers import ROOT

_LOAD = """
import sys
from pathlib import Path
from reviewdesk.desk import Desk
from reviewdesk.reports import Source
folder = Path(sys.argv[1])
(folder / "r.json").write_text(sys.argv[2])
desk = Desk.open(folder / "d.db", reviewer="ann")
try:
    desk.load(Source.from_path(folder / "r.json"))
except Exception as error:
    print(error)
print("pydantic" in sys.modules)
"""
_VERDICT = '{"id": "v", "case": {"test": "t"}, "jurors": [{"id": "j", "score": %s}]}'
_REPORT = f'{{"schema": "reviewdesk.report/1", "verdicts": [{_VERDICT}]}}'


@pytest.mark.slow
@pytest.mark.parametrize(("score", "said"), [("0.5", ""), ("5", "must be a number from 0 to 1")])
def test_a_load_builds_models_only_to_say_what_is_wrong(
    score: str, said: str, tmp_path: Path
) -> None:
    words = [sys.executable, "-c", _LOAD, str(tmp_path), _REPORT % score]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    assert said in done.stdout
    assert done.stdout.splitlines()[-1] == str(bool(said))
