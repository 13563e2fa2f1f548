"""The programs: how each is started, what it needs, and what its output says that must be equal to native.

program = PROGRAMS["pw.x"]
program.why_not()                               # what is missing here
before = program.results(output, folder)        # of a launch without ECO
program.difference(before, program.results(output, folder))     # None: equal
"""

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

INPUTS = Path(__file__).parent / "inputs"
#: Results by name: numbers are compared within the program's tolerance, words as they are.
Results = dict[str, float | str]
#: `conv_thr` of silicon.in, and half a unit of the last digit that pw.x prints, in Ry.
ENERGY_RY = 1e-8 + 0.5e-8
#: LAMMPS adds forces in another order when ranks' messages come in another order; 30 steps let that grow no further.
THERMO = 1e-6
#: Rounding in mpi4py-fft's way there and back.
ROUND_TRIP = 1e-12


@dataclass(frozen=True)
class Program:
    """One program with one input."""

    name: str
    words: tuple[str, ...]
    inputs: tuple[str, ...]  # files of INPUTS that lie in its working directory
    needs: str  # on PATH
    read: Callable[[str, Path], Results]  # its output and its working directory
    tolerance: float  # absolute, of numbers

    def why_not(self) -> str | None:
        """What is missing here, and what to type."""
        if shutil.which(self.needs) is None:
            return f"{self.needs} is not installed: run `make programs`"
        return None

    def results(self, output: str, folder: Path) -> Results:
        """Throws ValueError where the output does not have them: then the program has not done its work."""
        try:
            return self.read(output, folder)
        except (AttributeError, KeyError, OSError) as error:
            raise ValueError(f"{self.name} ended without its results: {error!r}\n{output[-2000:]}") from error

    def difference(self, native: Results, other: Results) -> str | None:
        """What is not equal, in words."""
        if native.keys() != other.keys():
            return f"other results: {sorted(native.keys() ^ other.keys())}"
        for key, wanted in native.items():
            got = other[key]
            is_equal = (
                abs(got - wanted) <= self.tolerance
                if isinstance(got, float) and isinstance(wanted, float)
                else got == wanted
            )
            if not is_equal:
                return f"{key}: {got} instead of {wanted}"
        return None


def found(pattern: str, text: str) -> str:
    match = re.search(pattern, text, re.MULTILINE)
    if match is None:
        raise KeyError(pattern)
    return match.group(1)


def of_silicon(output: str, _folder: Path) -> Results:
    found(r"(convergence has been achieved)", output)
    return {"total energy, Ry": float(found(r"^!\s+total energy\s+=\s+(\S+) Ry", output))}


def of_hpcc(_output: str, folder: Path) -> Results:
    """Its times differ; what it found right must not."""
    file = folder / "hpccoutf.txt"
    text = file.read_text()
    file.unlink()  # the next launch would append
    results: Results = {"Success": found(r"^Success=(\d+)", text)}
    for key in ("PTRANS_residual", "MPIRandomAccess_Errors", "HPL_N"):
        results[key] = found(rf"^{key}=(\S+)", text)
    results["HPL, PTRANS failed"] = str(len(re.findall(r"FAILED", text)))
    results["HPL passed"] = str(len(re.findall(r"\.\.\.\.+\s*PASSED", text)))
    error = float(found(r"^MPIFFT_maxErr=(\S+)", text))
    results["MPIFFT error is small"] = str(error < 1e-12)
    return results


def of_salt(output: str, _folder: Path) -> Results:
    """Every number of the thermodynamic table, relative to the first row's."""
    table = found(r"^Step .*\n((?:\s+\d.*\n)+)", output)
    rows = [[float(word) for word in line.split()] for line in table.splitlines()]
    first = rows[0]
    return {
        f"step {row[0]:.0f}, column {i}": number / abs(unit)
        for row in rows
        for i, (number, unit) in enumerate(zip(row, first, strict=True))
        if i > 0
    }


def of_spectrum(output: str, _folder: Path) -> Results:
    """Blocks only travel, so the spectra have the same bytes."""
    missed = float(found(r"^missed (\S+)", output))
    return {"spectra": found(r"^spectra (\w+)", output), "missed": missed}


PROGRAMS = {
    program.name: program
    for program in (
        Program("pw.x", ("pw.x", "-ndiag", "1", "-in", "silicon.in"), ("silicon.in",), "pw.x", of_silicon, ENERGY_RY),
        # The same at the cutoff that a converged energy needs, as anybody would start it.
        Program("pw.x-24", ("pw.x", "-in", "silicon-24.in"), ("silicon-24.in",), "pw.x", of_silicon, ENERGY_RY),
        Program("hpcc", ("hpcc",), ("hpccinf.txt",), "hpcc", of_hpcc, 0.0),
        Program("lammps", ("lmp", "-in", "salt.lammps", "-log", "none"), ("salt.lammps",), "lmp", of_salt, THERMO),
        Program(
            "mpi4py-fft", ("python", "spectrum.py", "48", "10"), ("spectrum.py",), "mpirun.openmpi", of_spectrum,
            ROUND_TRIP,
        ),
    )
}  # fmt: skip
