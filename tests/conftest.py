"""What all tests share: when a marked test is skipped, and with which reason."""

import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from eco import kernel, paths

#: Of the user's ECO_ variables, all others of which would change tests: where the build is, what tests are told.
_KEEP = ("ECO_NATIVE_DIR", "ECO_TEST_")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that need an emulated network or an MPI library are skipped where there is none, and say why."""
    if any(item.get_closest_marker("lab") for item in items):
        reason = kernel.probe().why_no_lab()
        if reason:
            _skip(items, "lab", f"no emulated networks here: {reason}")
    missing = [name for name in paths.LIBRARIES if not (paths.library_dir(name) / "bin" / "mpiexec").exists()]
    if missing:
        _skip(items, "mpi", f"{', '.join(missing)} not installed below .venv/mpi: run `make setup`")


def _skip(items: list[pytest.Item], marker: str, reason: str) -> None:
    for item in items:
        if item.get_closest_marker(marker):
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session", autouse=True)
def _no_users_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests neither read what the user's cache remembers nor add to it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True)
def _no_eco_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if (name == "ECO" or name.startswith("ECO_")) and not name.startswith(_KEEP):
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def load_tool() -> Callable[..., ModuleType]:
    """A script of tools/, or of another folder, as a module."""

    def load(name: str, folder: str = "tools") -> ModuleType:
        path = Path(__file__).parents[1] / folder / name
        loader = importlib.machinery.SourceFileLoader(f"eco_tools_{name.replace('-', '_')}", str(path))
        spec = importlib.util.spec_from_loader(loader.name, loader)
        assert spec is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[loader.name] = module  # dataclasses look their module up
        sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
        try:
            loader.exec_module(module)
        finally:
            sys.dont_write_bytecode = before
        return module

    return load
