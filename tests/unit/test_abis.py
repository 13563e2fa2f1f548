"""The table of MPI's binary interfaces."""

import json
from pathlib import Path

import pytest

from eco import abis, launch, paths
from eco.errors import CorruptFile, InvalidArgument


@pytest.fixture(autouse=True)
def _afresh() -> None:
    abis.all_abis.cache_clear()


def test_names_of_libraries_are_found_in_a_folder(tmp_path: Path) -> None:
    assert abis.in_directory(tmp_path) == []
    for name in ("libmpi.so", "libmpi.so.12", "libmpi_abi.so.1", "libmpi.so.99"):
        (tmp_path / name).touch()
    assert [abi.name for abi in abis.in_directory(tmp_path)] == ["mpich", "mpi-abi"]
    (tmp_path / "libmpich.so.12").touch()  # Debian's name, the same ABI
    assert [abi.name for abi in abis.in_directory(tmp_path)] == ["mpich", "mpi-abi"]


def test_no_soname_has_two_meanings() -> None:
    names = [name for abi in abis.all_abis() for name in abi.sonames]
    assert len(names) == len(set(names))


def test_an_unknown_abi_is_refused_with_those_that_exist() -> None:
    assert abis.by_name("mpi-abi").backend == "libeco-mpi-abi.so"
    with pytest.raises(InvalidArgument, match="expected one of openmpi, mpich, mpi-abi"):
        abis.by_name("lam")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "install ECO again"),
        (json.dumps({"schema": "eco.abis", "version": 1, "abis": []}), "version 2, got eco.abis 1"),
        (json.dumps({"schema": "eco.abis", "version": 2, "abis": [{"name": "mpich"}]}), "sonames"),
    ],
)
def test_a_damaged_table_is_named(
    text: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "abis.json").write_text(text)
    monkeypatch.setattr(paths, "data_dir", lambda: tmp_path)
    with pytest.raises(CorruptFile, match=reason):
        abis.all_abis()


def test_the_standard_abi_is_asked_for_by_name(tmp_path: Path) -> None:
    """A launcher of MPICH starts programs of both of its ABIs."""
    for folder in ("bin", "lib"):
        (tmp_path / folder).mkdir()
    launcher = tmp_path / "bin" / "mpiexec"
    launcher.write_text("#!/bin/sh\necho HYDRA build details:\n")
    launcher.chmod(0o755)
    line = launch.parse_prefix([str(launcher), "-n", "2"])
    (tmp_path / "lib" / "libmpi.so.12").touch()
    assert launch.installation(line) == launch.Installation("mpich", tmp_path, tmp_path / "lib")
    assert launch.installation(line, "mpi-abi").library_dir is None
    (tmp_path / "lib" / "libmpi_abi.so.1").touch()
    assert launch.installation(line, "mpi-abi") == launch.Installation("mpi-abi", tmp_path, tmp_path / "lib")
