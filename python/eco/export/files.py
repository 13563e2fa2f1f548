"""An export as files in a folder: the library's own decision file, what must be set, and where it all comes from.

settings = Export(target, rules, notes, library_file, subnets).write(Path("DIR"))   # {"OMPI_MCA_...": ...}
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from eco.export import coordinates, mpich, openmpi, ucc
from eco.export.decide import Rule
from eco.export.tables import Target
from eco.report.records import write_text


@dataclass(frozen=True)
class Format:
    """How a library's decisions are written: the file's name (none: in a variable) and its text."""

    file: str
    text: Callable[[Mapping[str, Sequence[Rule]], Target, int, Sequence[str], str], str]


FORMATS = {
    "openmpi-classic": Format("openmpi.rules", openmpi.classic),
    "openmpi-json": Format("openmpi.json", openmpi.as_json),
    "mpich-json": Format("mpich.json", mpich.as_json),
    "ucc-tune": Format("", ucc.tokens),
}
COORDINATES = "mpich.coordinates"
ENVIRONMENT = "env.sh"


@dataclass(frozen=True)
class Export:
    """Rules of each operation for groups of so many ranks."""

    target: Target
    rules: Mapping[str, Sequence[Rule]]
    notes: Sequence[str]  # on which network, of which version, when
    library_file: str
    hosts: Sequence[str]  # of every rank
    subnets: Sequence[int] | None

    def write(self, folder: Path) -> dict[str, str]:
        """Writes the files; the variables that make the library read them."""
        form = FORMATS[self.target.format]
        in_file = {op: rules for op, rules in self.rules.items() if not chosen_by_settings(rules)}
        text = form.text(in_file, self.target, len(self.hosts), self.notes, self.library_file)
        places = {"{tokens}": text}
        if form.file:
            write_text(folder / form.file, text)
            places["{file}"] = str((folder / form.file).absolute())
        if self.subnets is not None:
            write_text(folder / COORDINATES, coordinates.text(self.hosts, self.subnets, self.notes))
            places["{coordinates}"] = str((folder / COORDINATES).absolute())
        return self._settings(places)

    def write_environment(self, folder: Path, settings: Mapping[str, str]) -> Path:
        """The variables as a file for a shell, with the notes."""
        lines = [f"# {note}" for note in self.notes]
        lines += [f"export {name}={shlex.quote(value)}" for name, value in settings.items()]
        write_text(folder / ENVIRONMENT, "\n".join(lines) + "\n")
        return folder / ENVIRONMENT

    def remove(self, folder: Path) -> None:
        """Takes the files of an earlier export away."""
        for name in (FORMATS[self.target.format].file, COORDINATES, ENVIRONMENT):
            if name:
                (folder / name).unlink(missing_ok=True)

    def _settings(self, places: Mapping[str, str]) -> dict[str, str]:
        out = {}
        for name, value in self.target.settings.items():
            if not value.startswith("{"):
                out[name] = value
            elif places.get(value):
                out[name] = places[value]
        for op, rules in self.rules.items():
            out |= self.target.operations[op].settings
            for rule in rules:
                out |= dict(rule.candidate.whole) if rule.candidate else {}
        return out


def chosen_by_settings(rules: Sequence[Rule]) -> bool:
    return any(rule.candidate is not None and rule.candidate.whole for rule in rules)
