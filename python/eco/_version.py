"""The one place that says which version this is; CMake and the wheel read it from here."""

__version__ = "0.1.0"
