"""Executables are read, and files that are none or damaged say nothing."""

import os
import subprocess
from pathlib import Path

import pytest

from eco import elf


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Linked with a library of its own."""
    folder = tmp_path_factory.mktemp("elf")
    (folder / "library.c").write_text("int answer(void) { return 42; }\n")
    (folder / "program.c").write_text("int answer(void);\nint main(void) { return answer(); }\n")
    library, out = folder / "libanswer.so.7", folder / "program"
    subprocess.run(
        ["cc", "-shared", "-fPIC", f"-Wl,-soname,{library.name}", folder / "library.c", "-o", library],
        check=True,
    )
    subprocess.run(["cc", folder / "program.c", library, "-o", out], check=True)
    return out


def test_the_libraries_that_a_program_names(program: Path) -> None:
    assert "libanswer.so.7" in elf.needed(program)
    assert elf.has_loader(program)


def test_files_that_are_no_executables(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("#!/bin/sh\n")
    os.mkfifo(tmp_path / "pipe")
    for file in (text, tmp_path, tmp_path / "absent", tmp_path / "pipe"):
        assert elf.needed(file) == ()
        assert elf.has_loader(file) is None


def test_damaged_files_say_what_they_can(program: Path, tmp_path: Path) -> None:
    whole, damaged = program.read_bytes(), tmp_path / "damaged"
    for at in range(0, 0x400, 4):  # the header, the table of segments, and some of what follows
        damaged.write_bytes(whole[:at] + b"\xff" * 8 + whole[at + 8 :])
        elf.needed(damaged)
        elf.has_loader(damaged)
    for length in (0, 10, 63, 64, 100, 1000):
        damaged.write_bytes(whole[:length])
        assert elf.needed(damaged) == ()
