"""`eco-exec`, installed beside the interpreter: becomes the native eco-exec and imports nothing else on the way."""

import os
import sys

from eco import paths
from eco.errors import EcoError


def main() -> None:
    try:
        program = str(paths.native_file("eco-exec"))
        os.execv(program, [program, *sys.argv[1:]])
    except (EcoError, OSError) as error:
        # 127 is what a shell gives for "could not be started"; the native program uses it too.
        print(f"eco-exec: {error}", file=sys.stderr)
        sys.exit(127)
