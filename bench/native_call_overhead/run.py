"""What ECO adds to a call that it passes to the library: 8 bytes, one rank, stock against ECO, alternating.

    python bench/native_call_overhead/run.py [--launches 5] [--ranks 1]

The target is under 0.5 us. One rank, because two would time the machine's scheduler; a communicator of one rank is
looked up and passed like any other that stays native.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from eco import paths

LIMIT_NS = 500.0
OPERATIONS = ("broadcast", "allreduce", "barrier")
AS_ROOT = {
    f"{prefix}_ALLOW_RUN_AS_ROOT{suffix}": "1" for prefix in ("OMPI", "PRTE") for suffix in ("", "_CONFIRM")
}


def one_launch(library: str, program: Path, ranks: int, with_eco: bool) -> list[float]:
    """Nanoseconds per call of each operation."""
    words = [str(paths.library_dir(library) / "bin" / "mpiexec"), "-n", str(ranks)]
    words += ["--oversubscribe"] if library == "openmpi" else []
    settings = {"ECO_QUIET": "1", "ECO_MEASURE": "never"} if with_eco else {"ECO": "off"}
    words += [str(paths.native_file("eco-exec")), str(program)]
    done = subprocess.run(
        words, env={**os.environ, **AS_ROOT, **settings}, text=True, capture_output=True, check=True
    )
    return [float(word) for word in done.stdout.split()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--launches", type=int, default=5)
    parser.add_argument("--ranks", type=int, default=1)
    options = parser.parse_args()
    worst = 0.0
    for library in paths.LIBRARIES:
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "overhead"
            source = Path(__file__).with_name("overhead.c")
            compiler = paths.library_dir(library) / "bin" / "mpicc"
            subprocess.run([compiler, "-O2", source, "-o", program], check=True)
            pairs = [
                (
                    one_launch(library, program, options.ranks, False),
                    one_launch(library, program, options.ranks, True),
                )
                for _ in range(options.launches)
            ]
        for index, operation in enumerate(OPERATIONS):
            stock = statistics.median(pair[0][index] for pair in pairs)
            passed = statistics.median(pair[1][index] for pair in pairs)
            worst = max(worst, passed - stock)
            print(
                f"{library:8} {operation:10} stock {stock:8.1f} ns  with ECO {passed:8.1f} ns  "
                f"added {passed - stock:+7.1f} ns"
            )
    print(f"at most {worst:.0f} ns added; the limit is {LIMIT_NS:.0f} ns")
    return 0 if worst < LIMIT_NS else 1


if __name__ == "__main__":
    sys.exit(main())
