"""Programs that do nothing wrong, some in every way that is allowed: for what must find nothing in them.

for line in PROGRAMS:
    library.run_served(ranks_of(line), words_of(line, library))
"""

from .conftest import Library

PROGRAMS = (
    "collectives", "local_choices", "reductions", "operations 300 5", "corners bottom", "lifetimes",
    "nonblocking_first", "nonblocking many", "nonblocking beside", "nonblocking freed", "nonblocking threads",
    "threads", "communicators 20 60", "profiled", "error_handlers",
)  # fmt: skip


def ranks_of(line: str) -> int:
    """MPICH's ranks spin while they wait, so few where there are many threads or turns."""
    return 2 if "threads" in line or line.startswith("communicators") else 3


def words_of(line: str, library: Library) -> list[str]:
    """The compiled program and its arguments."""
    source, *arguments = line.split()
    draws = library.draws if source == "operations" else []
    return [library.compile(source, flags=["-ldl"]), *arguments, *draws]
