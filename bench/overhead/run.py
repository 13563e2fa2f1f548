"""What running a schedule costs: ns per operation, and GB/s with no network in the way, 2 to 16 ranks.

    python bench/overhead/run.py [--json F.json] [--ranks 2,4,8,16] [--shared-memory openmpi,mpich]

Builds bench-executor (release) and runs it: the window and the Executor alone, then threads over loopback. With
--shared-memory also `eco bench` on the ranks of this host, the same pipelines by a plan that names them, beside the
library's own operations. Run it alone: on two cores another build is most of what it measures.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from eco import paths, plans

ROOT = Path(__file__).parents[2]
#: As bench-executor's pipelines, in segments that a library sends eagerly.
SHARED_BYTES = 4 << 20
SHARED = {
    "broadcast": "broadcast/chain segment=15872 head=0 window=0 between=chain inside=chain",
    "allreduce": "allreduce/ring segment=15872 head=0 window=0 between=chain inside=chain",
}


def loopback(ranks: str) -> dict[str, Any]:
    """Figures of bench-executor, which is built first."""
    build = ROOT / "build" / "release"
    quiet = {"check": True, "stdout": sys.stderr, "cwd": ROOT}
    subprocess.run(["cmake", "--preset", "release", "-DECO_BUILD_TESTS=OFF"], **quiet)
    subprocess.run(["cmake", "--build", str(build), "--target", "bench-executor"], **quiet)
    words = [str(build / "bench-executor"), "--json", "--ranks", ranks]
    return dict(json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout))


def eco(*words: str, settings: dict[str, str]) -> None:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("ECO")}
    subprocess.run([sys.executable, "-m", "eco.cli.main", *words], env=inherited | settings, check=True,
                   stdout=subprocess.DEVNULL)  # fmt: skip


def shared_memory(library: str, ranks: int, folder: Path) -> list[dict[str, Any]]:
    """Stock and ECO's pipelines on the ranks of this host."""
    network, plan, results = (folder / name for name in ("network.json", "plan.json", "results.json"))
    launcher = [str(paths.library_dir(library) / "bin" / "mpiexec"), "-n", str(ranks)]
    launcher += ["--oversubscribe"] if library == "openmpi" else []
    plan.write_text(plans.by_hand(ranks, {name: [(SHARED_BYTES, recipe)] for name, recipe in SHARED.items()}))
    eco("characterize", "-o", str(network), "--", *launcher, settings={})
    settings = {"ECO_NETWORK": str(network), "ECO_PLAN": str(plan), "ECO_MEASURE": "never"}
    eco("bench", "--no-tune", "--ops", ",".join(SHARED), "--sizes", str(SHARED_BYTES), "--json", str(results), "--",
        *launcher, settings=settings)  # fmt: skip
    return [
        {
            "library": library,
            "recipe": record["algorithm"],
            "collective": record["collective"],
            "ranks": ranks,
            "bytes": SHARED_BYTES,
            "gb_per_s": SHARED_BYTES / record["eco_median_s"] / 1e9,
            "stock_gb_per_s": SHARED_BYTES / record["stock_median_s"] / 1e9,
        }
        for record in json.loads(results.read_text())["records"]
    ]


def show(found: dict[str, Any]) -> None:
    print(
        f"{found['cores']} cores, best of {found['repeats']}; memcpy of one thread {found['copy_gb_per_s']:.2f} GB/s"
    )
    print(f"\n{'ns per operation':28} ranks  window  executor  loopback")
    for row in found["operations"]:
        print(
            f"{row['recipe']:28} {row['ranks']:5} {row['window_ns']:7.1f} {row['executor_ns']:9.1f} "
            f"{row['loopback_ns']:9.1f}"
        )
    print(f"\n{'message per second':28} ranks  segment    GB/s")
    for row in found["pipelines"]:
        print(f"{row['recipe']:28} {row['ranks']:5} {row['segment_bytes']:8} {row['gb_per_s']:7.3f}")
    for row in found.get("shared_memory", []):
        print(
            f"{row['library'] + ' ' + row['recipe']:28} {row['ranks']:5} {'':8} {row['gb_per_s']:7.3f}   "
            f"stock {row['stock_gb_per_s']:.3f}"
        )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--ranks", default="2,4,8,16")
    parser.add_argument("--shared-memory", default="", metavar="LIBRARIES")
    options = parser.parse_args()
    found = loopback(options.ranks)
    for library in filter(None, options.shared_memory.split(",")):
        for ranks in options.ranks.split(","):
            with tempfile.TemporaryDirectory() as folder:
                found.setdefault("shared_memory", []).extend(shared_memory(library, int(ranks), Path(folder)))
    show(found)
    if options.json:
        document = {"schema": "eco.bench.overhead", "version": 1, **found}
        options.json.write_text(json.dumps(document, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
