"""The C programs of benchmarks and examples, compiled for a library.

compiled("openmpi", Path("bench/late_ranks/late.c"))      # -> .venv/mpi/openmpi/late
"""

import functools
import subprocess
from pathlib import Path

from eco import paths


@functools.cache
def compiled(library: str, source: Path, *flags: str) -> Path:
    """The program, made once a process: what the source includes may have changed since it was made last."""
    prefix = paths.library_dir(library)
    program = prefix / source.stem
    subprocess.run([prefix / "bin" / "mpicc", "-O2", source, "-o", program, *flags], check=True)
    return program
