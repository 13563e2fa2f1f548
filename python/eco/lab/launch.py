"""What makes plain `mpirun` work across the hosts: a launch agent, a host list and environment variables.

Nothing is passed on the command line, so scripts and other programs that call mpirun need no change. The agent
stands in for ssh: it steps into the namespaces of the host it is given and runs the command there.
"""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Callable
from pathlib import Path

from eco.errors import InvalidArgument
from eco.lab.description import Description
from eco.lab.inside import STATE_DIR, TMP_DIR
from eco.lab.namespaces import NETNS_DIR, UTSNS_DIR
from eco.launch import AS_ROOT
from eco.paths import how_to_install

# Ranks share a few cores: an idle poll may sleep this long, and a woken rank waits at most a slice for its turn.
IDLE_US = 500
SLICE_US = 100

AGENT = STATE_DIR / "agent"
HOST_LIST = STATE_DIR / "ranks"


def asleep_while_idle(native_dir: Path, idle_us: int = IDLE_US) -> dict[str, str]:
    """What lets ranks that poll sleep so long, so that several share a processor."""
    return {"LD_PRELOAD": str(native_dir / "libeco-idle.so"), "ECO_LAB_IDLE_US": str(idle_us)}


@dataclasses.dataclass(frozen=True)
class Launch:
    """Everything a command needs to start in a lab."""

    environment: dict[str, str]
    files: dict[str, str]  # below STATE_DIR
    programs: tuple[str, ...]  # those of them that are executable


def enter_host(host: str) -> list[str]:
    """The command prefix that runs something on a host, from inside the lab."""
    return ["nsenter", f"--net={NETNS_DIR / host}", f"--uts={UTSNS_DIR / host}", "--"]


def prepare(
    description: Description,
    hosts_of_ranks: tuple[str, ...],
    library: str,
    library_dir: Path,
    native_dir: Path,
    cache_dir: Path,
    inherited_path: str,
) -> Launch:
    """Environment and files for one library and placement."""
    launcher = launcher_of(library)
    if not (library_dir / "bin" / "mpiexec").exists():
        raise InvalidArgument(
            f"{library_dir}: no MPI library there (bin/mpiexec is missing); "
            f"`{how_to_install(library)}` installs {library}"
        )
    # Of a NIC that some host lacks libraries complain.
    interfaces = ",".join(f"eth{r}" for r in description.common_rails)
    digest = description.digest()
    # These must reach every process on every host, whatever the launcher forwards.
    everywhere = {
        **asleep_while_idle(native_dir),
        "ECO_LAB": description.name,
        "ECO_LAB_DIGEST": digest,
        "ECO_LAB_SLICE_US": str(SLICE_US),
        "ECO_CACHE_DIR": str(cache_dir / "lab" / digest),
        # Made by nobody, unless for a lab: emulated networks are not for other users' jobs.
        "ECO_SITE_DIR": str(cache_dir / "lab" / digest / "site"),
        # Launchers name their files by host and process number, which are the same in every lab.
        "TMPDIR": str(TMP_DIR),
    }
    environment = {
        **everywhere,
        **launcher.environment(interfaces),
        "ECO_HOST_ID": f"{digest}/{hosts_of_ranks[0]}",
        "ECO_LAB_LIBRARY": library,
        "PATH": f"{library_dir / 'bin'}:{inherited_path}",
        "VIRTUAL_ENV": str(library_dir),
    }
    return Launch(
        environment=environment,
        files={
            AGENT.name: _agent({**everywhere, "PATH": environment["PATH"]}, digest),
            HOST_LIST.name: "".join(f"{host}{launcher.after_host}\n" for host in hosts_of_ranks),
        },
        programs=(AGENT.name,),
    )


def _openmpi(interfaces: str) -> dict[str, str]:
    return _messages_of_openmpi(interfaces) | {
        "PRTE_MCA_plm_ssh_agent": str(AGENT),
        "PRTE_MCA_plm_ssh_no_tree_spawn": "1",
        "PRTE_MCA_prte_if_include": "eth0",
        "PRTE_MCA_prte_default_hostfile": str(HOST_LIST),
        "PRTE_MCA_rmaps_default_mapping_policy": "seq:OVERSUBSCRIBE",
        "PRTE_MCA_hwloc_default_binding_policy": "none",
    }


def _openmpi4(interfaces: str) -> dict[str, str]:
    return _messages_of_openmpi(interfaces) | {
        "OMPI_MCA_plm_rsh_agent": str(AGENT),
        "OMPI_MCA_plm_rsh_no_tree_spawn": "1",
        "OMPI_MCA_oob_tcp_if_include": "eth0",
        "OMPI_MCA_orte_default_hostfile": str(HOST_LIST),
        "OMPI_MCA_rmaps_base_mapping_policy": "seq",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_hwloc_base_binding_policy": "none",
    }


def _messages_of_openmpi(interfaces: str) -> dict[str, str]:
    return {
        # In the lab every process is root of its own namespaces, also an ordinary user's.
        **AS_ROOT,
        # No shared memory: hosts of a lab are processes on one machine, and would find each other's.
        "OMPI_MCA_pml": "ob1",
        "OMPI_MCA_btl": "tcp,self",
        "OMPI_MCA_btl_tcp_if_include": interfaces,
        "OMPI_MCA_mpi_yield_when_idle": "1",
    }


def _mpich(interfaces: str) -> dict[str, str]:
    return {
        "HYDRA_LAUNCHER": "ssh",
        "HYDRA_LAUNCHER_EXEC": str(AGENT),
        "HYDRA_IFACE": "eth0",
        "HYDRA_HOST_FILE": str(HOST_LIST),
        "MPIR_CVAR_CH4_NETMOD": "ucx",
        "UCX_TLS": "tcp,self",
        "UCX_NET_DEVICES": interfaces,
    }


@dataclasses.dataclass(frozen=True)
class Launcher:
    """How the lab starts programs of one library."""

    abi: str  # which of ECO's backends and rank programs is for it
    environment: Callable[[str], dict[str, str]]  # given the hosts' interfaces
    after_host: str = ""  # in the list of ranks


LAUNCHERS = {
    "openmpi": Launcher("openmpi", _openmpi),
    "mpich": Launcher("mpich", _mpich, after_host=":1"),
    "openmpi4": Launcher("openmpi", _openmpi4),
    "debian-openmpi": Launcher("openmpi", _openmpi4),
}


def launcher_of(library: str) -> Launcher:
    """Throws InvalidArgument for a library that the lab can't start."""
    if library not in LAUNCHERS:
        raise InvalidArgument(f"library {library!r}; choose one of {', '.join(LAUNCHERS)}")
    return LAUNCHERS[library]


def _agent(environment: dict[str, str], digest: str) -> str:
    exports = "\n".join(f"export {name}={shlex.quote(value)}" for name, value in environment.items())
    return f"""#!/bin/sh
# Stands in for ssh: agent [-options] HOST COMMAND...
while [ "${{1#-}}" != "$1" ]; do shift; done
host=$1
shift
{exports}
export ECO_HOST_ID={digest}/$host
exec nsenter --net={NETNS_DIR}/$host --uts={UTSNS_DIR}/$host -- /bin/sh -c "$*"
"""
