"""`eco fuzz` on the libraries themselves: no difference, and one that is put there is found."""

import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from eco.cli.fuzz import replay_on, this_host
from eco.fuzz import runs
from eco.fuzz.campaign import Campaign, Options, network_of_one_host
from eco.fuzz.runs import OneHost
from eco.report.progress import make_console

from .conftest import CHOSEN, Library

pytestmark = pytest.mark.mpi

FUZZED = [name for name in CHOSEN if name in ("openmpi", "mpich")]


def fuzz(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "eco.cli.main", "fuzz", "--folder", str(folder), *words]
    return subprocess.run(command, text=True, capture_output=True, timeout=590, check=False)


@pytest.mark.parametrize("library", FUZZED, indirect=False)
def test_no_difference(library: str, tmp_path: Path) -> None:
    ended = fuzz(tmp_path, "--calls", "1500", "--library", library, "--seed", "5")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "no difference" in ended.stdout, ended.stdout
    assert "nothing was served" not in ended.stdout, ended.stdout
    assert "the library alone does not run" not in ended.stdout, ended.stdout


#: ECO combines by PMPI_Reduce_local; the libraries' own collectives do not.
WRONG_SUMS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
int PMPI_Reduce_local(const void* in, void* inout, int count, MPI_Datatype type, MPI_Op op) {
  int (*right)(const void*, void*, int, MPI_Datatype, MPI_Op) = dlsym(RTLD_NEXT, "PMPI_Reduce_local");
  const int code = right(in, inout, count, type, op);
  if (count > 50) ((char*)inout)[0] ^= 1;
  return code;
}
"""


def test_a_difference_is_found_made_small_and_stored(
    libraries: Callable[[str], Library], tmp_path: Path
) -> None:
    """Under one library: what looks for the fault and shrinks it is the same for every one."""
    library = libraries("mpich")
    source, shim = tmp_path / "wrong.c", tmp_path / "libwrong.so"
    source.write_text(WRONG_SUMS)
    subprocess.run([*library.compiler, "-shared", "-fPIC", source, "-o", shim, "-ldl"], check=True,
                   env=library.environment({}))  # fmt: skip
    place = OneHost(library.name, "tcp")
    identity = this_host(place, 60)
    options = Options(2000, 1, (2, 3), calls_per_launch=25, most_faults=1, folder=tmp_path,
                      settings={"LD_PRELOAD": str(shim)})  # fmt: skip

    def layout(dice: random.Random, ranks: int) -> runs.Layout:
        return network_of_one_host(dice, ranks, identity)

    outcome = Campaign(place, options, layout).run()
    (found,) = outcome.faults
    case = runs.read_case(found.file)
    assert found.fault.kind == "differs"
    (call,) = [step for step in case.program if step.is_call]
    assert "op" in call.words, "a reduction alone is wrong"
    assert replay_on(case, place, 60, make_console()) == 1
    without = runs.Case(**{**vars(case), "settings": {"ECO_ARM_AFTER": "0"}})
    assert replay_on(without, place, 60, make_console()) == 0
