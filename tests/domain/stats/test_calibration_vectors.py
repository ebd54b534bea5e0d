"""The project's own vectors of calibration, through the adapter of ``test_vectors``."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.domain.calibration_vectors import CALIBRATION
from tests.domain.test_vectors import run_case

OWN = Path(__file__).with_name("calibration_vectors.json")
CASES = json.loads(OWN.read_text(encoding="utf-8"))["cases"]


@pytest.mark.parametrize("case", CASES, ids=[f"{case['fn']}-{case['id']}" for case in CASES])
def test_vector(case: dict[str, Any]) -> None:
    run_case(case)


def test_they_reach_every_function_of_calibration() -> None:
    assert {case["fn"] for case in CASES} == set(CALIBRATION)
