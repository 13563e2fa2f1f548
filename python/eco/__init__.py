"""ECO: collective communication that follows the network it really runs on.

Importing this loads nothing heavy: take what you need from the modules, e.g. `from eco import paths`. `eco._core`
is the C++ core.
"""

from eco._version import __version__

__all__ = ["__version__"]
