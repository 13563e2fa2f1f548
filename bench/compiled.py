"""What benchmarks run: C programs compiled for a library, and ECO's own of CMake's release build.

compiled("openmpi", Path("bench/late_ranks/late.c"))      # -> .venv/mpi/openmpi/late
rows_of(place, True, SOURCE, ["100", "8"])                   # -> what a launch of it with ECO has written, by words
released("bench-executor")                                # -> build/release/bench-executor
"""

import functools
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from eco import jobs, paths

TIMEOUT_S = 280.0


@functools.cache
def compiled(library: str, source: Path, *flags: str) -> Path:
    """The program, made once a process: what the source includes may have changed since it was made last."""
    prefix = paths.library_dir(library)
    program = prefix / source.stem
    subprocess.run([prefix / "bin" / "mpicc", "-O2", source, "-o", program, *flags], check=True)
    return program


def rows_of(
    place: jobs.LabPlace, served: bool, source: Path, words: Sequence[str], *flags: str
) -> list[list[str]]:
    """Launches the program, stock or armed from its first call; the lines of the file that is its last argument."""
    with jobs.scratch(source.stem) as folder:
        out = folder / "out"
        command = [str(compiled(place.library, source, *flags)), *words, str(out)]
        line = place.with_eco(command, {"ECO_ARM_AFTER": "0"}) if served else place.stock(command)
        ended = place.start(line, TIMEOUT_S)
        jobs.check(ended, f"launch of {source.stem} {' '.join(words)}", "start it by hand to see more")
        return [row.split() for row in out.read_text().splitlines()]


def released(target: str) -> Path:
    """The program, made anew where its sources have changed; what CMake says goes to standard error."""
    root = Path(__file__).parents[1]
    build = root / "build" / "release"
    configure = ["cmake", "--preset", "release", "-DECO_BUILD_TESTS=OFF"]
    for command in (configure, ["cmake", "--build", str(build), "--target", target]):
        subprocess.run(command, check=True, stdout=sys.stderr, cwd=root)
    return build / target
