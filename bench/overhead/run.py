"""What running a schedule costs: ns per operation, and GB/s with no shaped network in the way, 2 to 16 ranks.

    python bench/overhead/run.py [--json F.json] [--ranks 2,4,8,16]
    python bench/overhead/run.py --only-mpi --shared-memory openmpi,mpich --tcp openmpi,mpich --json F.json

Builds bench-executor and bench-predict (release) and runs them: the window and the Executor alone, then threads over
loopback, then the predictor on one core. With --shared-memory and --tcp also `eco-rank time` on the ranks of this host,
over the library's shared memory and over TCP that nothing shapes: patterns of many small operations, and long pipelines
beside the library's own operations. --only-mpi leaves those two out. Run it alone: on two cores another build is most
of what it measures.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eco import paths
from eco.launch import AS_ROOT
from eco.provenance import provenance

sys.path.insert(0, str(Path(__file__).parents[1]))
from compiled import released

TIMEOUT_S = 200.0
#: What makes ranks of one host talk in this way, by library.
LINKS = {
    "shared memory": {
        "openmpi": {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "sm,self"},
        "mpich": {"UCX_TLS": "posix,sysv,self"},
    },
    "tcp": {
        "openmpi": {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "tcp,self", "OMPI_MCA_btl_tcp_if_include": "lo"},
        "mpich": {"MPIR_CVAR_NOLOCAL": "1", "UCX_TLS": "tcp,self"},
    },
}
#: As bench-executor's: 4096 segments of 64 bytes in one block of the message.
SMALL_BYTES, SMALL_SEGMENT = 256 << 10, 64
SMALL = {"broadcast": ("chain", "binomial"), "allreduce": ("ring",), "alltoall": ("flat",)}
LARGE_BYTES = 4 << 20
LARGE_SEGMENTS = (15872, 65536, 262144)  # the first is sent eagerly
LARGE = {"broadcast": ("chain",), "allreduce": ("ring",)}


def figures(target: str, *words: str) -> Any:
    """What a program of the release build writes, which is built first."""
    command = [str(released(target)), "--json", *words]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def outside_mpi(ranks: str) -> dict[str, Any]:
    return {**figures("bench-executor", "--ranks", ranks), "predictor": figures("bench-predict")}


class Ranks:
    """Ranks of one library on this host, over one kind of link."""

    def __init__(self, library: str, link: str, folder: Path) -> None:
        self.library, self.link, self.folder = library, link, folder
        self.network = folder / "network.json"
        self.start(2, "characterize", "--out", str(self.network))

    def start(self, ranks: int, *words: str) -> None:
        """eco-rank; with more ranks than cores on slices of 100 us, as in the lab: libraries wait by polling."""
        prefix = paths.library_dir(self.library)
        launcher = [str(prefix / "bin" / "mpiexec"), "-n", str(ranks)]
        launcher += ["--oversubscribe", "--bind-to", "none"] if self.library == "openmpi" else []
        settings = {"LD_LIBRARY_PATH": f"{prefix}/lib", **AS_ROOT, **LINKS[self.link][self.library]}
        if ranks > (os.cpu_count() or 1):
            settings |= {"OMPI_MCA_mpi_yield_when_idle": "1", "ECO_LAB_SLICE_US": "100",
                         "LD_PRELOAD": str(paths.native_file("libeco-idle.so"))}  # fmt: skip
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("ECO")}
        subprocess.run(
            [*launcher, str(paths.native_file(f"eco-rank-{self.library}")), *words],
            env=inherited | settings, check=True, timeout=TIMEOUT_S, stdout=sys.stderr,
        )  # fmt: skip

    def time(self, ranks: int, trials: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Seconds of every recipe and of the library's own operation, trial by trial."""
        wanted, out = self.folder / "trials.json", self.folder / "times.json"
        wanted.write_text(json.dumps({"schema": "eco.rank.trials", "version": 1, "trials": trials}))
        self.start(ranks, "time", "--network", str(self.network), "--trials", str(wanted), "--out", str(out),
                   "--rounds", "5", "--max-seconds", "3")  # fmt: skip
        return list(json.loads(out.read_text())["trials"])


def trials_of(
    patterns: Mapping[str, tuple[str, ...]], size: int, segments: tuple[int, ...]
) -> list[dict[str, Any]]:
    return [
        {
            "collective": name,
            "bytes": size,
            "root": 0,
            "recipes": [f"{name}/{pattern} segment={segment}" for pattern in of_this for segment in segments],
        }
        for name, of_this in patterns.items()
    ]


def over_mpi(link: str, library: str, ranks: int, group: Ranks) -> dict[str, list[dict[str, Any]]]:
    """Processor time of an operation, and GB/s of pipelines, over one link."""
    where = {"link": link, "library": library, "ranks": ranks}
    cores = min(ranks, os.cpu_count() or 1)
    operations, pipelines = [], []
    small = trials_of(SMALL, SMALL_BYTES, (SMALL_SEGMENT,))
    large = trials_of(LARGE, LARGE_BYTES, LARGE_SEGMENTS)
    for trial in group.time(ranks, [*small, *large]):
        for timed in trial["recipes"]:
            seconds = timed["seconds"]
            if not seconds:
                print(f"{timed['recipe']}: no times over {link} under {library}", file=sys.stderr)
                continue
            row = {**where, "recipe": timed["recipe"], "bytes": trial["bytes"], "seconds": seconds,
                   "native_seconds": trial["native"], "operations": timed["operations"]}  # fmt: skip
            median_s = statistics.median(seconds)
            if trial["bytes"] == LARGE_BYTES:
                native_s = statistics.median(trial["native"])
                pipelines.append(row | {"gb_per_s": trial["bytes"] / median_s / 1e9,
                                        "native_gb_per_s": trial["bytes"] / native_s / 1e9})  # fmt: skip
            else:
                operations.append(row | {"ns": median_s * 1e9 * cores / timed["operations"]})
    return {"operations": operations, "pipelines": pipelines}


def show(found: dict[str, Any]) -> None:
    if "operations" in found:
        copies = f"memcpy of one thread {found['copy_gb_per_s']:.2f} GB/s"
        print(f"{found['cores']} cores, best of {found['repeats']}; {copies}")
        print(f"\n{'ns per operation':28} ranks  window  executor  loopback")
        for row in found["operations"]:
            print(
                f"{row['recipe']:28} {row['ranks']:5} {row['window_ns']:7.1f} {row['executor_ns']:9.1f} "
                f"{row['loopback_ns']:9.1f}"
            )
        print(f"\n{'message per second':28} ranks  segment    GB/s")
        for row in found["pipelines"]:
            print(f"{row['recipe']:28} {row['ranks']:5} {row['segment_bytes']:8} {row['gb_per_s']:7.3f}")
    for row in found.get("predictor", ()):
        print(f"predictor {row['ranks']:3} ranks  {row['recipe']:56} {1e3 / row['ns']:6.2f} M operations/s")
    for row in found.get("mpi", {}).get("operations", ()):
        where = f"{row['library']}, {row['link']}"
        print(f"{where:24} {row['ranks']:3} ranks  {row['recipe']:36} {row['ns']:8.1f} ns an operation")
    for row in found.get("mpi", {}).get("pipelines", ()):
        where = f"{row['library']}, {row['link']}"
        print(
            f"{where:24} {row['ranks']:3} ranks  {row['recipe']:36} {row['gb_per_s']:8.3f} GB/s, "
            f"the library's own {row['native_gb_per_s']:.3f}"
        )
    for row in found.get("mpi", {}).get("failed", ()):
        print(f"{row['library']}, {row['link']}, {row['ranks']} ranks: no figures: {row['why']}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--ranks", default="2,4,8,16")
    parser.add_argument("--shared-memory", default="", metavar="LIBRARIES")
    parser.add_argument("--tcp", default="", metavar="LIBRARIES")
    parser.add_argument("--only-mpi", action="store_true")
    options = parser.parse_args()
    where = {key: value for key, value in provenance().items() if key != "estimator"}
    found: dict[str, Any] = {} if options.only_mpi else outside_mpi(options.ranks)
    mpi: dict[str, list[dict[str, Any]]] = {"operations": [], "pipelines": [], "failed": []}
    for link, libraries in (("shared memory", options.shared_memory), ("tcp", options.tcp)):
        for library in filter(None, libraries.split(",")):
            with tempfile.TemporaryDirectory() as folder:
                group = Ranks(library, link, Path(folder))
                for ranks in map(int, options.ranks.split(",")):
                    try:
                        rows = over_mpi(link, library, ranks, group)
                    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
                        # The others are worth keeping.
                        mpi["failed"].append(
                            {"link": link, "library": library, "ranks": ranks, "why": str(error)}
                        )
                        continue
                    for kind, of_kind in rows.items():
                        mpi[kind] += of_kind
    if any(mpi.values()):
        found["mpi"] = mpi
    show(found)
    if options.json:
        document = {"schema": "eco.bench.overhead", "version": 2, "provenance": where, **found}
        options.json.write_text(json.dumps(document, indent=1) + "\n")
    return 1 if mpi["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
