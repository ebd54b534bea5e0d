import sys

from tests.helpers import ROOT

# The faults are those of the benchmark, whose parts are found from its own folder.
sys.path.append(str(ROOT / "benchmarks"))
