"""What ECO adds to a call that it passes to the library: 8 bytes, stock against ECO, alternating.

    python bench/native_call_overhead/run.py [--launches 5] [--only one-rank|profiled|armed]

Three paths, each under the target of 0.5 us:
  one-rank  a communicator of one rank, looked up and passed like any other that stays native. One rank, because the
            library then has next to nothing to do and the addition shows undiluted.
  profiled  the same with ECO_PROFILE, which counts every call.
  armed     two ranks on an armed communicator, whose plan (ECO_PLAN) leaves 8 bytes to the library: with the look at
            the plan and, for an allreduce, at type and operation. Needs two idle cores.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from eco import paths, plans
from eco.launch import AS_ROOT

LIMIT_NS = 500.0
OPERATIONS = ("broadcast", "allreduce", "barrier")
RANKS = {"one-rank": 1, "profiled": 1, "armed": 2}
#: Something must be served, or the communicator is not armed; 8 bytes and barriers are not.
ROWS: plans.Rows = {
    "broadcast": [(8, None), (1024, "broadcast/binomial")],
    "allreduce": [(8, None), (1024, "allreduce/binomial")],
    "barrier": [(0, None)],
}


class Bench:
    """One library, its compiled program, and the files of an armed run."""

    def __init__(self, library: str, folder: Path) -> None:
        self.library = library
        self.folder = folder
        self.program = folder / "overhead"
        source = Path(__file__).with_name("overhead.c")
        compiler = paths.library_dir(library) / "bin" / "mpicc"
        subprocess.run([compiler, "-O2", source, "-o", self.program], check=True)
        self.network = folder / "network.json"
        rank = str(paths.native_file(f"eco-rank-{library}"))
        self.launch(2, [rank, "characterize", "--out", str(self.network)], {})

    def launch(self, ranks: int, words: list[str], settings: dict[str, str]) -> str:
        launcher = [str(paths.library_dir(self.library) / "bin" / "mpiexec"), "-n", str(ranks)]
        launcher += ["--oversubscribe"] if self.library == "openmpi" else []
        settings = {"LD_LIBRARY_PATH": str(paths.library_dir(self.library) / "lib")} | settings
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("ECO")}
        done = subprocess.run(
            [*launcher, *words], env=inherited | AS_ROOT | settings, text=True, capture_output=True, check=True
        )  # fmt: skip
        return done.stdout

    def one_launch(self, path: str, with_eco: bool) -> list[float]:
        """Nanoseconds per call of each operation."""
        settings = {"ECO": "off"}
        report = self.folder / "report.json"
        if with_eco:
            settings = {"ECO_QUIET": "1", "ECO_MEASURE": "never", "ECO_REPORT": str(report)}
            if path == "profiled":
                settings["ECO_PROFILE"] = str(self.folder / "profile.json")
            if path == "armed":
                plan = self.folder / "plan.json"
                plan.write_text(plans.by_hand(RANKS[path], ROWS))
                settings |= {"ECO_PLAN": str(plan), "ECO_NETWORK": str(self.network)}
        words = [str(paths.native_file("eco-exec")), *([] if with_eco else ["--bare"]), str(self.program)]
        printed = self.launch(RANKS[path], words, settings)
        if with_eco:
            armed = json.loads(report.read_text())["communicators_armed"]
            if armed != (path == "armed"):
                raise SystemExit(f"{self.library}, {path}: {armed} communicators were armed")
        return [float(word) for word in printed.split()]

    def worst(self, path: str, launches: int) -> float:
        """Prints what each operation pays; the most of them."""
        pairs = [(self.one_launch(path, False), self.one_launch(path, True)) for _ in range(launches)]
        worst = 0.0
        for index, operation in enumerate(OPERATIONS):
            stock = statistics.median(pair[0][index] for pair in pairs)
            passed = statistics.median(pair[1][index] for pair in pairs)
            worst = max(worst, passed - stock)
            print(
                f"{self.library:8} {path:9} {operation:10} stock {stock:8.1f} ns  with ECO {passed:8.1f} ns  "
                f"added {passed - stock:+7.1f} ns",
                flush=True,
            )
        return worst


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--launches", type=int, default=5)
    parser.add_argument("--only", choices=RANKS)
    options = parser.parse_args()
    worst = 0.0
    for library in paths.LIBRARIES:
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(library, Path(folder))
            for path in [options.only] if options.only else RANKS:
                worst = max(worst, bench.worst(path, options.launches))
    print(f"at most {worst:.0f} ns added; the limit is {LIMIT_NS:.0f} ns")
    return 0 if worst < LIMIT_NS else 1


if __name__ == "__main__":
    sys.exit(main())
