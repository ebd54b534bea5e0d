"""Run a command; print its process, and at its end its status, CPU seconds and most memory.

A process begins with the peak of the one that started it, so a large one cannot measure a small
one. This one is small.
"""

import os
import subprocess
import sys

with subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL) as process:
    print(process.pid, flush=True)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
print(process.returncode, used.ru_utime + used.ru_stime, used.ru_maxrss)
