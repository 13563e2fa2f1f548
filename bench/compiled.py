"""What benchmarks run: C programs compiled for a library, and ECO's own of CMake's release build.

compiled("openmpi", Path("bench/late_ranks/late.c"))      # -> .venv/mpi/openmpi/late
released("bench-executor")                                # -> build/release/bench-executor
"""

import functools
import subprocess
import sys
from pathlib import Path

from eco import paths


@functools.cache
def compiled(library: str, source: Path, *flags: str) -> Path:
    """The program, made once a process: what the source includes may have changed since it was made last."""
    prefix = paths.library_dir(library)
    program = prefix / source.stem
    subprocess.run([prefix / "bin" / "mpicc", "-O2", source, "-o", program, *flags], check=True)
    return program


def released(target: str) -> Path:
    """The program, made anew where its sources have changed; what CMake says goes to standard error."""
    root = Path(__file__).parents[1]
    build = root / "build" / "release"
    configure = ["cmake", "--preset", "release", "-DECO_BUILD_TESTS=OFF"]
    for command in (configure, ["cmake", "--build", str(build), "--target", target]):
        subprocess.run(command, check=True, stdout=sys.stderr, cwd=root)
    return build / target
