"""What the benches that hold the predictor against SimGrid have in common as commands: options, and their file."""

import argparse
import json
from pathlib import Path
from typing import Any

from smpi import BUILD, Records, build, version, why_not

from eco.report.records import parse_sizes


def parse(description: str | None, sizes: str, only: str) -> argparse.Namespace:
    """The options, with sizes in bytes; the programs are built then. `only` says what is chosen by a text."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--build", type=Path, default=BUILD, metavar="FOLDER", help="of the two programs")
    parser.add_argument("--only", default="", metavar="TEXT", help=only)
    parser.add_argument("--sizes", default=sizes, metavar="SIZE,...", help="16KiB,4MiB, or in bytes")
    parser.add_argument("--check-bytes", type=int, default=64 << 10, metavar="BYTES",
                        help="check the results of cells of up to so many bytes")  # fmt: skip
    options = parser.parse_args()
    options.sizes = parse_sizes(options.sizes)
    if reason := why_not(options.build):
        raise SystemExit(reason)
    build(options.build)
    return options


def write(path: Path | None, schema: str, records: Records | dict[str, Records], **facts: Any) -> None:
    """What was found, into the file if there is to be one."""
    if path is None:
        return
    document = {"schema": schema, "version": 1, "simgrid": version(), **facts, "records": records}
    path.write_text(json.dumps(document, indent=1) + "\n")
