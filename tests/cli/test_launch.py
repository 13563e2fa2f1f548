"""Launcher command lines are split where the launcher itself splits them."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from eco import launch
from eco.errors import InvalidArgument, Unsupported


def family(name: str, versions: str = "") -> launch.Launcher:
    for launcher in launch.launchers():
        if launcher.family == name and (not versions or launcher.versions == versions):
            return launcher
    raise AssertionError(f"no {name} {versions} in the table")


OPENMPI4, OPENMPI5 = family("openmpi", ">=4,<5"), family("openmpi", ">=5")
HYDRA, INTEL, SLURM = family("hydra"), family("intel"), family("slurm")

# A bar marks where eco-exec belongs.
LINES = [
    (OPENMPI5, "mpirun -n 8 | ./app"),
    (OPENMPI5, "mpirun | ./app -n 3 --mca pml ob1"),
    (OPENMPI5, "mpirun -np 8 --oversubscribe --bind-to none | ./app a b"),
    (OPENMPI5, "mpirun --np 8 --mca btl tcp,self --mca btl_tcp_if_include eth0 | python app.py --n 2"),
    (OPENMPI5, "mpirun -n=4 --map-by=seq:OVERSUBSCRIBE | ./app"),
    (OPENMPI5, "mpirun --prtemca plm_ssh_agent /bin/agent --prtemca prte_if_include eth0 -n 2 | ./app"),
    (OPENMPI5, "mpirun -x FOO=1 -x BAR -H a:2,b:2 --hostfile hosts.txt -N 2 | ./app"),
    (OPENMPI5, "mpirun --pmixmca ptl_tcp_if_include lo -q -v --tag-output --timeout 60 | ./app"),
    (OPENMPI5, "mpirun -n 4 -- | ./app"),
    (OPENMPI5, "mpirun -n 1 | ./master x : -n 7 --wdir /tmp | ./worker y"),
    (OPENMPI5, "mpirun -n 1 | a : -n 1 | b : -n 2 | c : d"),
    (OPENMPI5, "prterun --personality ompi -n 4 | ./app"),
    (OPENMPI5, "/opt/mpi/bin/mpiexec --display map --output tag -n 2 | ./app"),
    (OPENMPI4, "mpirun -mca pml ob1 -mca btl tcp,self -np 4 --report-bindings | ./app"),
    (OPENMPI4, "mpirun --host a,b -npernode 2 --bind-to core -x PATH --display-topo | ./app -x"),
    (OPENMPI4, "mpirun -am file.conf -rf ranks.txt --tune t.conf -c 3 | ./app"),
    (HYDRA, "mpiexec -n 8 | ./app"),
    (HYDRA, "mpiexec -np 4 -ppn 1 -hosts h1:1,h2:1 -iface eth0 | ./app -n 2"),
    (HYDRA, "mpiexec -genv UCX_TLS tcp,self -genv A=1 -n 4 -env B 2 | ./app B 2"),
    (HYDRA, "mpiexec -launcher ssh -launcher-exec /bin/agent -f hosts -l -verbose -n 4 | ./app"),
    (HYDRA, "mpiexec --n 4 -bind-to=core | ./app"),
    (HYDRA, "mpiexec -genvall -n 1 | ./a : -n 3 -wdir /tmp | ./b"),
    (HYDRA, "mpiexec -disable-x -genvlist PATH,HOME -usize INFINITE -n 2 | ./app"),
    (INTEL, "mpirun -n 4 -ppn 1 -perhost 1 -genv I_MPI_PIN 0 -print-rank-map | ./app"),
    (INTEL, "mpiexec.hydra -tune shm.dat -prot -cpu-bind none -n 2 | ./app"),
    (HYDRA, "mpiexec -order-nodes ascending -n 2 | ./app"),
    (OPENMPI4, "mpirun --enable-instant-on-support --fwd-mpirun-port -n 2 | ./app"),
    (SLURM, "srun -n 8 | ./app -n 3"),
    (SLURM, "srun -n8 -N2 -ul | ./app"),
    (SLURM, "srun --ntasks=8 --mpi=pmix --cpu-bind none --exclusive | ./app"),
    (SLURM, "srun --mpi pmix_v4 -uln 4 -p debug -t 10 --kill-on-bad-exit=1 -K | ./app"),
    (SLURM, "srun -K1 -I --pty | ./app"),
    (SLURM, "srun -n 1 | ./a : -n 3 | ./b"),
]


@pytest.mark.parametrize(("launcher", "text"), LINES, ids=[text for _, text in LINES])
def test_eco_exec_goes_before_every_program(launcher: launch.Launcher, text: str) -> None:
    words = shlex.split(text.replace("|", ""))
    expected: list[str] = []
    marked = shlex.split(text)
    for i, word in enumerate(marked):
        if word == "|":
            expected += ["eco-exec", "--set", "A=1"]
        elif word == ":" and i + 1 < len(marked) and marked[i + 1] not in ("-n", "|"):
            expected += [":", "eco-exec", "--set", "A=1"]  # "c : d": a program without options
        else:
            expected.append(word)
    line = launch.parse(words, launcher)
    assert line.wrapped(["eco-exec", "--set", "A=1"]) == expected
    assert line.words() == words


UNKNOWN = [
    (OPENMPI5, "mpirun -n 8 --frobnicate 3 ./app", "--frobnicate"),
    (OPENMPI5, "mpirun -n1 ./app", "-n1"),  # Open MPI itself refuses this
    (OPENMPI5, "mpirun --app appfile", "--app"),
    (HYDRA, "mpiexec -configfile programs", "-configfile"),
    (HYDRA, "mpiexec -n 2 -mystery ./app", "-mystery"),
    (SLURM, "srun -n 2 -9 ./app", "-9"),
    (SLURM, "srun -n 2 --frobnicate=3 ./app", "--frobnicate"),
    (SLURM, "srun --multi-prog programs.conf", "--multi-prog"),
]


@pytest.mark.parametrize(("launcher", "text", "named"), UNKNOWN, ids=[text for _, text, _ in UNKNOWN])
def test_what_is_not_understood_is_refused_with_a_way_out(
    launcher: launch.Launcher, text: str, named: str
) -> None:
    with pytest.raises(Unsupported) as error:
        launch.parse(text.split(), launcher)
    assert named in str(error.value)
    assert "eco-exec" in str(error.value)


@pytest.mark.parametrize(
    "text", ["mpirun -n 8", "mpirun", "mpirun -n 2 ./a : -n 2", "mpirun --mca btl", "mpirun -n"]
)
def test_a_line_without_a_program(text: str) -> None:
    with pytest.raises(InvalidArgument):
        launch.parse(text.split(), OPENMPI5)


def test_a_prefix_takes_the_program_that_it_is_given() -> None:
    prefix = launch.parse_prefix(["mpirun", "-n", "4", "--bind-to", "none"], OPENMPI5)
    assert prefix.started(["eco-rank", "bench"]) == [
        "mpirun",
        "-n",
        "4",
        "--bind-to",
        "none",
        "eco-rank",
        "bench",
    ]
    both = launch.parse_prefix(["mpirun", "-n", "1", "-H", "a", ":", "-n", "3", "-H", "b"], OPENMPI5)
    assert both.started(["r"]) == ["mpirun", "-n", "1", "-H", "a", "r", ":", "-n", "3", "-H", "b", "r"]


def test_a_program_wrapped_by_hand_is_left_alone() -> None:
    line = launch.parse(["mpirun", "-n", "2", "/opt/bin/eco-exec", "./a", ":", "-n", "2", "./b"], OPENMPI5)
    assert line.wrapped(["eco-exec"]) == [
        "mpirun",
        "-n",
        "2",
        "/opt/bin/eco-exec",
        "./a",
        ":",
        "-n",
        "2",
        "eco-exec",
        "./b",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mpirun (Open MPI) 4.1.4\n", ("openmpi", ">=4,<5")),
        ("mpirun (Open MPI) 5.0.11\n", ("openmpi", ">=5")),
        ("prterun (PRRTE) 3.0.9\n", ("openmpi", ">=5")),
        ("HYDRA build details:\n    Version: 5.0.2\n", ("hydra", "*")),
        ("Intel(R) MPI Library for Linux* OS, Version 2021.13 Build 20240701\n", ("intel", "*")),
        ("slurm 23.11.4\n", ("slurm", "*")),
        ("mpirun of some vendor 1.0", None),
        ("", None),
    ],
)
def test_launchers_are_recognised_by_their_version(text: str, expected: tuple[str, str] | None) -> None:
    found = launch.recognise(text)
    assert (None if found is None else (found.family, found.versions)) == expected


def test_unknown_and_missing_launchers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="not a launcher that ECO knows"):
        launch.parse(["./app", "-n", "2"])
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InvalidArgument, match="no such launcher on PATH"):
        launch.parse(["mpirun.none", "-n", "2", "./app"])
    vendor = tmp_path / "mpirun-vendor"
    vendor.write_text("#!/bin/sh\necho vendor 7\n")
    vendor.chmod(0o755)
    with pytest.raises(Unsupported, match="vendor 7"):
        launch.parse([str(vendor), "-n", "2", "./app"])
    assert launch.is_launcher("/usr/bin/mpiexec.hydra")
    assert launch.is_launcher("mpirun.openmpi")
    assert not launch.is_launcher("mpirunner")


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_a_static_program_makes_the_whole_job_native(tmp_path: Path) -> None:
    source = tmp_path / "p.c"
    source.write_text("int main(void) { return 0; }\n")
    for name, flags in (("dynamic", []), ("static", ["-static"]), ("pie", ["-static-pie"])):
        program = tmp_path / name
        subprocess.run(["cc", str(source), "-o", str(program), *flags], check=True)
        reason = f"{program} is statically linked, so nothing can be put under it" if flags else None
        for words in (program, f"eco-exec {program}", f"eco-exec --set A=1 -- {program}"):
            line = launch.parse(f"mpirun -n 1 python x.py : -n 2 {words} a".split(), OPENMPI5)
            assert launch.why_native(line) == reason


def test_scripts_and_missing_programs_are_not_static(tmp_path: Path) -> None:
    script = tmp_path / "s.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    assert not launch.is_static([str(script)])
    assert not launch.is_static([str(tmp_path / "absent")])


def test_installation_and_library_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "lib").mkdir()
    (tmp_path / "bin" / "mpirun").write_text("#!/bin/sh\necho 'mpirun (Open MPI) 5.0.11'\n")
    (tmp_path / "bin" / "mpirun").chmod(0o755)
    line = launch.parse_prefix([str(tmp_path / "bin" / "mpirun"), "-n", "2"])
    assert launch.installation(line) == launch.Installation("openmpi", tmp_path, None)
    assert launch.library_environment(launch.installation(line)) == {}
    (tmp_path / "lib" / "libmpi.so.40").touch()
    where = launch.installation(line)
    assert where.library_dir == tmp_path / "lib"
    monkeypatch.setitem(os.environ, "LD_LIBRARY_PATH", "/else")
    assert launch.library_environment(where) == {"LD_LIBRARY_PATH": f"{tmp_path}/lib:/else"}
    slurm = launch.LauncherLine(line.command, SLURM, line.parts)
    with pytest.raises(InvalidArgument, match="--library"):
        launch.installation(slurm)
    assert launch.installation(slurm, "openmpi").library == "openmpi"
    with pytest.raises(InvalidArgument, match="expected one of"):
        launch.installation(slurm, "lam")


def test_a_program_of_another_library_is_pointed_at(tmp_path: Path) -> None:
    source = tmp_path / "p.c"
    source.write_text("int MPI_Init(void);\nint main(void) { return MPI_Init(); }\n")
    (tmp_path / "mpi.c").write_text("int MPI_Init(void) { return 0; }\n")
    for soname, family_alone in (
        ("libmpi.so.40", HYDRA),
        ("libmpi.so.12", OPENMPI5),
        ("libmpi_mpifh.so.40", HYDRA),
        ("libmpi_abi.so.1", None),
    ):
        library, program = tmp_path / soname, tmp_path / f"with-{soname}"
        words = [
            "cc",
            "-shared",
            "-fPIC",
            f"-Wl,-soname,{soname}",
            str(tmp_path / "mpi.c"),
            "-o",
            str(library),
        ]
        subprocess.run(words, check=True)
        subprocess.run(["cc", str(source), str(library), "-o", str(program)], check=True)
        for launcher in (HYDRA, OPENMPI5, SLURM):
            for before in ([], ["eco-exec", "--set", "A=1"]):
                line = launch.parse(["mpirun", "-n", "2", *before, str(program)], launcher)
                why = launch.why_alone(line)
                assert (why is not None) == (launcher is family_alone)
                assert why is None or (str(program) in why and "rank 0 of 1" in why)


def test_programs_that_are_not_there_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for text, said in (
        ("mpirun ./app", f"there is no executable ./app in {tmp_path} on this host"),
        (
            "mpirun sh : eco-exec --set A=1 no-such-app",
            "there is no executable no-such-app on PATH on this host",
        ),
        ("mpirun sh -c ./app", None),
    ):
        assert launch.why_missing(launch.parse(text.split(), OPENMPI5)) == said
