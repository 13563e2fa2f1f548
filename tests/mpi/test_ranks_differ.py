"""Ranks of one job that differ: in their environment, as where a launcher loses it on the way to other hosts (`mpirun`
without -x, `srun --export=NONE`, a wrapper that clears it), in ECO itself, or in their arithmetic."""

import os
import socket
from collections.abc import Mapping
from pathlib import Path

import pytest

from eco import paths, plans

from .conftest import Ended, Library, shared_library

pytestmark = pytest.mark.mpi

EXEC = str(paths.native_file("eco-exec"))
DIFFER = f"ranks differ in ECO_ variables: rank 1 on host {socket.gethostname()}"
OFF = "it is off on some ranks (ECO=off, or Fortran past ECO), the first of them rank"


def with_settings(program: str, settings: Mapping[str, str]) -> list[str]:
    """A rank of the program under ECO, with settings that the other ranks lack."""
    return [EXEC, *(word for pair in settings.items() for word in ("--set", "=".join(pair))), program]


def run_parts(
    library: Library, parts: list[list[str]], settings: Mapping[str, str] | None = None, timeout_s: float = 60
) -> Ended:
    """One rank of each of these words."""
    words = parts[0]
    for part in parts[1:]:
        words = [*words, ":", "-n", "1", *part]
    return library.run(1, words, settings, timeout_s)


def either_way(one: list[str], other: list[str], first: bool) -> list[list[str]]:
    return [one, other] if first else [other, one]


def expect_native(ended: Ended, why: str) -> None:
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    assert ended.stderr.count(f"the program runs without ECO: {why}") == 1, ended.stderr


@pytest.mark.parametrize(
    ("variable", "value", "other"),
    [
        ("ECO", "observe", "on"),
        ("ECO_ARM_AFTER", "7", "auto"),
        ("ECO_CHECK", "communication", "none"),
        ("ECO_TRANSPORT", "tcp", "auto"),
        ("ECO_AMBIENT", "always", "off"),
    ],
)
def test_a_setting_of_one_rank(library: Library, variable: str, value: str, other: str) -> None:
    program = library.compile("reductions")
    ended = run_parts(library, [with_settings(program, {}), with_settings(program, {variable: value})])
    expect_native(ended, f"{DIFFER} has {variable}={value}, rank 0 {variable}={other};")
    assert ended.served()[0] == 0


@pytest.mark.parametrize("first", [True, False])
def test_all_settings_lost_on_one_rank(library: Library, first: bool) -> None:
    """Whoever has them: all that differ are named, once, and how many ranks lack them."""
    program = library.compile("reductions")
    settings = {"ECO_ARM_AFTER": "0", "ECO_BUDGET": "2.5", "ECO_MEASURE": "never", "ECO_DISABLE": "barrier,scan",
                "ECO_LATE": "auto"}  # fmt: skip
    has, lacks = with_settings(program, settings), with_settings(program, {})
    ended = run_parts(library, [has, lacks, lacks] if first else [lacks, has, has])
    theirs = "ECO_MEASURE=never ECO_BUDGET=2.5 ECO_ARM_AFTER=0 ECO_DISABLE=barrier,scan ECO_LATE=auto"
    default = "ECO_MEASURE=auto ECO_BUDGET=5 ECO_ARM_AFTER=auto ECO_DISABLE= ECO_LATE=off"
    of_1, of_0 = (default, theirs) if first else (theirs, default)
    expect_native(ended, f"{DIFFER} has {of_1}, rank 0 {of_0}; 1 more rank differs")
    assert ended.served()[0] == 0


@pytest.mark.parametrize("first", [True, False])
def test_what_one_rank_reads_lost_on_one_rank(library: Library, tmp_path: Path, first: bool) -> None:
    """Files and what only diagnoses need not be everywhere: rank 0's count for all, others' for nobody."""
    program = library.compile("reductions")
    plan, report = tmp_path / "plan.json", tmp_path / "report.json"
    plan.write_text(
        plans.by_hand(2, {"barrier": [(0, None)], "allreduce": [(1 << 16, "allreduce/binomial")]})
    )
    settings = {"ECO_PLAN": str(plan), "ECO_NETWORK": str(library.network), "ECO_REPORT": str(report),
                "ECO_CACHE_DIR": str(tmp_path / "cache"), "ECO_SITE_DIR": str(tmp_path), "ECO_SENTINELS": "0",
                "ECO_HOST_ID": "another", "ECO_STALL": "1", "ECO_STALL_SIGNAL": "1"}  # fmt: skip
    lacks = ["env", "-u", "ECO_CACHE_DIR", EXEC, program]
    parts = either_way(with_settings(program, settings), lacks, first)
    ended = run_parts(library, parts, {"ECO_ARM_AFTER": "0", "ECO_MEASURE": "never"})
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    assert (ended.served()[0] > 0) == first, ended.stderr
    assert report.exists() == first


@pytest.mark.parametrize("first", [True, False])
def test_a_profile_asked_for_by_one_rank(library: Library, tmp_path: Path, first: bool) -> None:
    program, profile = library.compile("reductions"), tmp_path / "profile.json"
    has, lacks = with_settings(program, {"ECO_PROFILE": str(profile)}), with_settings(program, {})
    ended = run_parts(library, either_way(has, lacks, first), library.forced(2))
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    assert ended.served()[0] > 0
    says = f"no profile: ECO_PROFILE is set on rank {0 if first else 1}, but not on rank {1 if first else 0}"
    assert ended.stderr.count(says) == 1, ended.stderr
    assert not profile.exists()


@pytest.mark.parametrize("first", [True, False])
def test_off_on_one_rank(library: Library, first: bool) -> None:
    program = library.compile("either_binding")
    off, on = with_settings(program, {"ECO": "off"}), with_settings(program, {})
    ended = run_parts(library, either_way(off, on, first))
    expect_native(ended, f"{OFF} {0 if first else 1}")
    assert "eco: served" not in ended.stderr


def test_off_on_all_ranks_is_silent(library: Library) -> None:
    silent = library.run(2, with_settings(library.compile("either_binding"), {"ECO": "off"}))
    assert (silent.returncode, silent.stdout) == (0, "right\n"), silent.stderr
    assert "eco:" not in silent.stderr


@pytest.mark.parametrize("first", [True, False])
def test_a_setting_that_one_rank_cannot_read(library: Library, first: bool) -> None:
    program = library.compile("reductions")
    bad, good = with_settings(program, {"ECO_BUDGET": "soon"}), with_settings(program, {})
    ended = run_parts(library, either_way(bad, good, first))
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    assert ended.served()[0] == 0
    assert f"eco: rank {0 if first else 1}: ECO_BUDGET='soon'" in ended.stderr, ended.stderr


#: This rank's version is another one: the first two numbers of ECO's first words say so. It knows nothing of what ECO
#: sends after them, so the program would meet that in its own calls.
OTHER_VERSION = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
int PMPI_Iallreduce(const void* in, void* out, int count, long type, long op, long comm, void* request) {
  static int n_calls;
  int (*real)(const void*, void*, int, long, long, long, void*) =
      (int (*)(const void*, void*, int, long, long, long, void*))dlsym(RTLD_NEXT, "PMPI_Iallreduce");
  if (n_calls++ == 0) {
    int64_t* words = out;
    words[0] += 1;
    words[1] = -words[0];
  }
  return real(in, out, count, type, op, comm, request);
}
int PMPI_Reduce(const void* in, void* out, int count, long type, long op, int root, long comm) {
  fprintf(stderr, "ECO sends what another version does not know\n");
  abort();
}
"""


@pytest.mark.parametrize("first", [True, False])
def test_another_version_on_one_rank(library: Library, tmp_path: Path, first: bool) -> None:
    program = library.compile("agreeing")
    other_version = str(shared_library(tmp_path, "libotherversion.so", OTHER_VERSION))
    other = [EXEC, "env", f"ECO_TEST_PRELOAD={other_version}", "sh", "-c",
             'LD_PRELOAD=$LD_PRELOAD:$ECO_TEST_PRELOAD exec "$@"', "sh", program, "2"]  # fmt: skip
    ended = run_parts(library, either_way(other, [EXEC, program, "2"], first), {"ECO_ARM_AFTER": "0"})
    expect_native(ended, "ranks run different versions of ECO; install the same on all nodes")
    assert ended.served()[0] == 0


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("how", ["never", "lost"])
def test_a_rank_without_the_preload_is_named(library: Library, how: str, first: bool) -> None:
    """Nothing tells it from a late one, so those that have it wait; they say for whom, and no call of that rank is
    mistaken for an answer."""
    program = library.compile("without_eco")
    bare = [program] if how == "never" else [EXEC, "env", "-u", "LD_PRELOAD", program]
    ended = run_parts(library, either_way(bare, [EXEC, program], first), {"ECO_STALL": "1"})
    assert ended.returncode != 0, ended.stderr
    assert "somebody took part" not in ended.stdout
    says = f"eco: rank {1 if first else 0} has waited for 1 s in MPI_Init for all 2 ranks to say that ECO is under them"
    assert ended.stderr.count(says) == 1, ended.stderr
    assert "eco-exec" in ended.stderr


#: Another processor, compiler and libm, as far as results go: it rounds up, and functions are off in their last digits.
ODD = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fenv.h>
__attribute__((constructor)) static void round_up(void) { fesetround(FE_UPWARD); }
#define OFF(name)                                                                    \
  double name(double x) {                                                            \
    static double (*real)(double);                                                   \
    if (real == 0) real = (double (*)(double))dlsym(RTLD_NEXT, #name);               \
    return real(x) * (1 + 1e-9);                                                     \
  }
OFF(log) OFF(log2) OFF(log10) OFF(exp) OFF(exp2) OFF(sqrt) OFF(cbrt)
double pow(double x, double y) {
  static double (*real)(double, double);
  if (real == 0) real = (double (*)(double, double))dlsym(RTLD_NEXT, "pow");
  return real(x, y) * (1 + 1e-9);
}
"""
#: The library's own collectives take milliseconds, so that plans that are measured here serve.
SLOW = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>
int PMPI_Bcast(void* data, int count, long type, int root, long comm) {
  usleep(3000);
  return ((int (*)(void*, int, long, int, long))dlsym(RTLD_NEXT, "PMPI_Bcast"))(data, count, type, root, comm);
}
int PMPI_Allreduce(const void* in, void* out, int count, long type, long op, long comm) {
  usleep(3000);
  return ((int (*)(const void*, void*, int, long, long, long))dlsym(RTLD_NEXT, "PMPI_Allreduce"))(in, out, count, type,
                                                                                                  op, comm);
}
int PMPI_Allgather(const void* in, int n, long type, void* out, int n_out, long type_out, long comm) {
  usleep(3000);
  return ((int (*)(const void*, int, long, void*, int, long, long))dlsym(RTLD_NEXT, "PMPI_Allgather"))(
      in, n, type, out, n_out, type_out, comm);
}
"""


@pytest.mark.parametrize(
    ("how", "odd"),
    [
        ("measured", 0),
        ("following", 2),
        pytest.param("measured", 2, marks=pytest.mark.long),
        pytest.param("following", 0, marks=pytest.mark.long),
    ],
)
def test_a_rank_that_computes_differently(library: Library, tmp_path: Path, how: str, odd: int) -> None:
    """One rank's fractions decide, whichever it is; ECO_CHECK compares what serves each call."""
    preloads = [str(shared_library(tmp_path, "libslow.so", SLOW))]
    words = [library.compile("agreeing"), "20"]
    settings = {"ECO_CHECK": "communication", "ECO_ARM_AFTER": "0", "ECO_BUDGET": "8"}
    if how == "following":
        words = [library.compile("ambient"), "60"]
        settings |= library.forced(3) | {"ECO_AMBIENT": "always", "ECO_LATE": "auto"}
        preloads = []
    usual = [EXEC, *words]
    settings |= {"LD_PRELOAD": os.pathsep.join(preloads)}
    oddly = [str(shared_library(tmp_path, "libodd.so", ODD)), *preloads]
    other = ["env", f"LD_PRELOAD={os.pathsep.join(oddly)}", *usual]
    ended = run_parts(
        library, [other if rank == odd else usual for rank in range(3)], settings, timeout_s=240
    )
    assert (ended.returncode, ended.stdout) == (0, "right\n"), ended.stderr
    assert "ranks differ" not in ended.stderr, ended.stderr
    assert ended.served()[0] > 0, ended.stderr
