"""Where files are looked for, and what is said when they are not there."""

import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest

from eco import paths, wisdom
from eco.errors import InvalidArgument, Unsupported


def test_native_dir_is_the_chosen_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECO_NATIVE_DIR", str(tmp_path))
    assert paths.native_dir() == tmp_path.resolve()


def test_a_chosen_native_dir_must_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECO_NATIVE_DIR", str(tmp_path / "nothing"))
    with pytest.raises(Unsupported, match="nothing is not a folder"):
        paths.native_dir()


def test_native_dir_of_an_installation_holds_the_preload(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ECO_NATIVE_DIR", raising=False)
    assert (paths.native_dir() / "eco-exec").is_file()


def test_a_missing_native_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECO_NATIVE_DIR", str(tmp_path))
    with pytest.raises(Unsupported, match=r"eco-relay is not in .*make build"):
        paths.native_file("eco-relay")
    (tmp_path / "eco-relay").touch()
    assert paths.native_file("eco-relay") == (tmp_path / "eco-relay").resolve()


def test_cache_dir_follows_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert paths.cache_dir() == tmp_path / ".cache" / "eco"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/is/ignored")
    assert paths.cache_dir() == tmp_path / ".cache" / "eco"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert paths.cache_dir() == tmp_path / "xdg" / "eco"
    monkeypatch.setenv("ECO_CACHE_DIR", str(tmp_path / "mine"))
    assert paths.cache_dir() == tmp_path / "mine"
    assert list(tmp_path.iterdir()) == []  # asking creates nothing


def test_networks_of_the_site_are_remembered_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ECO_SITE_DIR", raising=False)
    assert paths.site_dir() == Path("/var/lib/eco")
    monkeypatch.setenv("ECO_CACHE_DIR", str(tmp_path / "mine"))
    monkeypatch.setenv("ECO_SITE_DIR", str(tmp_path / "site"))
    assert paths.remembered_networks() == []
    for age, folder in ((20, "mine"), (10, "site")):
        (tmp_path / folder / "networks").mkdir(parents=True)
        file = tmp_path / folder / "networks" / f"{folder}.json"
        file.touch()
        os.utime(file, (1e9 - age, 1e9 - age))
    assert [file.name for file in paths.remembered_networks()] == ["site.json", "mine.json"]
    monkeypatch.setenv("ECO_SITE_DIR", "none")
    assert paths.site_dir() is None
    assert [file.name for file in paths.remembered_networks()] == ["mine.json"]


def test_what_is_removed_meanwhile_is_not_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECO_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("ECO_SITE_DIR", "none")
    for folder in (tmp_path / "networks", tmp_path / "plans"):
        folder.mkdir()
        (folder / "gone.json").symlink_to(tmp_path / "nothing")
        (folder / "loop.json").symlink_to(folder / "loop.json")
        (folder / "new.json").touch()
        (folder / "old.json").touch()
        os.utime(folder / "old.json", (1, 1))
    assert [file.name for file in paths.remembered_networks()] == ["new.json", "old.json"]
    assert [text.split("/plans/")[1].split(":")[0] for text in wisdom.collect(tmp_path)[1]] == [
        "new.json",
        "old.json",
    ]


def test_who_has_no_home_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "XDG_CACHE_HOME", "ECO_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", {}.__getitem__)
    with pytest.raises(InvalidArgument, match="set HOME or ECO_CACHE_DIR"):
        paths.cache_dir()


def test_libraries_live_below_the_environment() -> None:
    assert paths.library_dir("mpich") == Path(sys.prefix) / "mpi" / "mpich"
    with pytest.raises(InvalidArgument, match="choose one of openmpi, mpich"):
        paths.library_dir("lam")


def test_shipped_files_are_found() -> None:
    assert (paths.data_dir() / "launchers.json").is_file()
    assert (paths.networks_dir() / "three-subnets.toml").is_file()


def test_results_do_not_tell_where_the_checkout_lies(monkeypatch: pytest.MonkeyPatch) -> None:
    root = paths.checkout()
    assert root is not None, "these tests run out of a checkout"
    assert paths.without_checkout(f"{root}/.venv/mpi/mpich/bin/mpiexec") == ".venv/mpi/mpich/bin/mpiexec"
    assert paths.without_checkout(f"--prefix={root}/.venv") == "--prefix=.venv"
    for word in ("mpirun", "-n", "/opt/mpi/bin/mpirun", f"{root}-older/mpirun"):
        assert paths.without_checkout(word) == word
    monkeypatch.setattr(paths, "checkout", lambda: None)
    assert paths.without_checkout("/opt/mpi/bin/mpirun") == "/opt/mpi/bin/mpirun"


def test_importing_eco_loads_nothing_heavy() -> None:
    heavy = "('numpy', 'typer', 'rich', 'scipy')"
    code = f"import eco, eco.exec_entry, sys; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
