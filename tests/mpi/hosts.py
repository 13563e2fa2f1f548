"""Ranks of this one machine that say that they are on several hosts (ECO_HOST_ID), and a network by hand that agrees.

job = Hosts(library, tmp_path, "hosts=2+2 uplink_mbit=10", [0, 2, 1, 3])
job.run(["./program"])                                  # with ECO under it
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from eco import _core, jobs, paths

from .conftest import Ended, Library


class Hosts:
    """A job on hosts of a synthetic network: the host of each rank."""

    def __init__(self, library: Library, folder: Path, network: str, hosts: Sequence[int]) -> None:
        self.library, self.folder, self.hosts = library, folder, hosts
        self.network = folder / "network.json"
        here = json.loads(library.network.read_text())["hosts"][0]
        described = json.loads(_core.synthetic_network(network))
        for index, host in enumerate(described["hosts"]):
            host.update(here, boot_id=jobs.host_id(index), net_namespace="")
        self.network.write_text(json.dumps(described))
        self.n_subnets = len(described["subnets"])

    def run(
        self, words: Sequence[str], settings: Mapping[str, str] | None = None, timeout_s: float = 400
    ) -> Ended:
        settings = {
            "ECO_NETWORK": str(self.network), "ECO_REPORT": str(self.folder / "report.json"), **(settings or {}),
        }  # fmt: skip
        words = [*jobs.on_hosts(self.hosts), str(paths.native_file("eco-exec")), *words]
        return self.library.run(len(self.hosts), words, settings, timeout_s)
