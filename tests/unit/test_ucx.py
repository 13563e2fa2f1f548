"""Which libucp a process takes, and which it does not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from eco import _core

SAYS = "from eco import _core; print(*_core.ucx(), sep='|')"
#: A libucp that says its version and can do nothing.
FAKE = """
void ucp_get_version(unsigned *major, unsigned *minor, unsigned *release) {
  *major = %s;
  *minor = %s;
  *release = 0;
}
"""


def said_with(folder: Path) -> tuple[str, str, str]:
    """By a process of its own that finds that folder's libraries first: version, file, reason."""
    environment = os.environ | {"LD_LIBRARY_PATH": str(folder)}
    ended = subprocess.run(
        [sys.executable, "-c", SAYS], env=environment, capture_output=True, text=True, timeout=300, check=True
    )
    version, file, reason = ended.stdout.strip("\n").split("|")
    return version, file, reason


@pytest.mark.skipif("ECO was built without" in _core.ucx()[2], reason=_core.ucx()[2])
@pytest.mark.parametrize(
    ("major", "minor", "reason"),
    [("1", "12", "1.12"), ("2", "0", "2.0"), ("1", "30", "lacks ucp_config_read")],
)
def test_a_libucp_that_is_not_known_is_refused(tmp_path: Path, major: str, minor: str, reason: str) -> None:
    (tmp_path / "fake.c").write_text(FAKE % (major, minor))
    library = tmp_path / "libucp.so.0"
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-Wl,-soname,libucp.so.0", "-o", library, tmp_path / "fake.c"], check=True
    )
    version, _, said = said_with(tmp_path)
    assert version == ""
    assert reason in said
    assert str(library) in said


def test_what_there_is_is_named_or_the_reason_why_there_is_none(tmp_path: Path) -> None:
    version, file, reason = said_with(tmp_path)
    assert (version != "" and "libucp" in file) != (reason != "")
