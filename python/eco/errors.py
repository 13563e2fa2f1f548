"""The errors of ECO's outside, the same classes as in C++ (eco/base/errors.h).

A message says what, where, which values, and what to try. The command line prints it as one line.
"""


class EcoError(Exception):
    """Any failure that is the caller's mistake or the outside world's, not a defect of ECO."""

    exit_code = 1


class InvalidArgument(EcoError):  # noqa: N818 - the name C++ has
    """An argument that no state of the world could make valid."""

    exit_code = 2


class Unsupported(EcoError):  # noqa: N818
    """Valid, but not served here: by this build, library or machine."""


class Timeout(EcoError):  # noqa: N818
    """The user's own time limit passed."""


class TransportError(EcoError):
    """A peer was lost, or a transport reported a failure."""


class CorruptFile(EcoError):  # noqa: N818
    """A file that is missing, truncated, foreign, or of a version this build does not read."""

    exit_code = 2
