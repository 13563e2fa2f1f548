"""Where ECO's files lie: native libraries, data shipped with the package, the user's cache.

Nothing else in the package builds such a path by hand.
"""

import contextlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from eco.errors import InvalidArgument, Unsupported

#: The MPI libraries that ECO is developed with: `make setup` installs them.
LIBRARIES = ("openmpi", "mpich")
#: Others that it serves, by the backends of the same ABIs, and what installs them. debian-openmpi has launchers and
#: Python bindings of the system's own Open MPI.
MORE_LIBRARIES = {
    "openmpi4": "make more-mpi",
    "mpich4": "make more-mpi",
    "impi": "make more-mpi",
    "debian-openmpi": "make programs",
}

_PACKAGE = Path(__file__).resolve().parent


def checkout() -> Path | None:
    """The root of the source tree, when the package runs out of one (an editable installation)."""
    root = _PACKAGE.parent.parent
    return root if (root / "CMakeLists.txt").is_file() and (root / "eco" / "base").is_dir() else None


def without_checkout(word: str) -> str:
    """A command line's word as results may tell it: a path below the checkout says nothing of where that lies."""
    root = checkout()
    return word if root is None else word.replace(f"{root}{os.sep}", "")


def native_dir() -> Path:
    """The folder of libeco-*.so, eco-exec and the rank programs: ECO_NATIVE_DIR, else the installed one."""
    chosen = os.environ.get("ECO_NATIVE_DIR")
    if chosen:
        folder = Path(chosen)
        if not folder.is_dir():
            raise Unsupported(
                f"ECO_NATIVE_DIR={chosen} is not a folder; unset it, or build with `make build`"
            )
        return folder.resolve()
    # An editable installation has the package's modules in the checkout and its native files in site-packages.
    import eco

    candidates = [Path(entry) / "native" for entry in eco.__path__] + _installed_native()
    for folder in candidates:
        if folder.is_dir():
            return folder.resolve()
    tried = ", ".join(str(folder) for folder in candidates)
    raise Unsupported(f"ECO's native files are not installed (looked in {tried}); run `make build`")


def _installed_native() -> list[Path]:
    """`eco/native` of the installed distribution, wherever the modules themselves are imported from."""
    import sysconfig

    return [Path(sysconfig.get_path(scheme)) / "eco" / "native" for scheme in ("platlib", "purelib")]


def native_file(name: str) -> Path:
    """The native file of that name; says how to get it where it is missing."""
    path = native_dir() / name
    if not path.is_file():
        raise Unsupported(
            f"{name} is not in {path.parent}, it was not built: run `make build`, see `eco doctor`"
        )
    return path


def library_dir(library: str) -> Path:
    """The prefix of an MPI library that ECO installed: each lives in a virtual environment of its own, below ours.

    Not checked for existence: who starts the library says best what is missing.
    """
    known = (*LIBRARIES, *MORE_LIBRARIES)
    if library not in known:
        raise InvalidArgument(f"library {library!r}; choose one of {', '.join(known)}")
    return Path(sys.prefix) / "mpi" / library


def how_to_install(library: str) -> str:
    """The command that makes `library_dir`."""
    return MORE_LIBRARIES.get(library, "make setup")


def cache_dir() -> Path:
    """Where measured networks are remembered: ECO_CACHE_DIR, else `eco` in the user's cache. Not created here."""
    chosen = os.environ.get("ECO_CACHE_DIR")
    if chosen:
        return Path(chosen).absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    # The XDG specification ignores a relative path.
    if base and Path(base).is_absolute():
        return Path(base) / "eco"
    try:
        return Path.home() / ".cache" / "eco"
    except RuntimeError as error:  # a user of a number alone, as in containers
        raise InvalidArgument(
            "this user has no home directory to remember in; set HOME or ECO_CACHE_DIR"
        ) from error


def site_dir() -> Path | None:
    """Where networks are remembered for all users: ECO_SITE_DIR, else /var/lib/eco; None where it says `none`."""
    chosen = os.environ.get("ECO_SITE_DIR", "/var/lib/eco")
    return None if chosen == "none" else Path(chosen).absolute()


def remembered_networks() -> list[Path]:
    """The files of all remembered networks, the user's and the site's, newest first."""
    folders = [folder for folder in (cache_dir(), site_dir()) if folder is not None]
    files = (file for folder in folders for file in (folder / "networks").glob("*.json"))
    return newest_first({Path(os.path.realpath(file)) for file in files})


def newest_first(files: Iterable[Path]) -> list[Path]:
    """By when they were written; without those that a job has removed just now, and links that lead nowhere."""
    aged = []
    for file in files:
        with contextlib.suppress(OSError):
            aged.append((file.stat().st_mtime, str(file), file))
    return [file for _, _, file in sorted(aged, reverse=True)]


def remembering() -> str:
    """The folders of remembered networks, for messages."""
    site = site_dir()
    return f"{cache_dir()}" + (f" or {site}" if site is not None and site.is_dir() else "")


#: Behind messages that nothing is remembered: a job in an emulated network has that network's own folder.
IN_THE_LAB = "; what is measured in the lab is seen there: eco lab run F.toml -- eco show --remembered"


def data_dir() -> Path:
    """Tables that change with other people's releases (launchers, ABIs)."""
    return _shipped("data")


def networks_dir() -> Path:
    """Lab descriptions and recorded measurements."""
    return _shipped("networks")


def _shipped(name: str) -> Path:
    root = checkout()
    if root is not None:
        return root / name
    return _PACKAGE / name
