"""Emulated networks: hosts are namespaces, the network between them is one relay process."""

from eco.lab.description import Description, load, parse
from eco.lab.lab import Lab, Streams

__all__ = ["Description", "Lab", "Streams", "load", "parse"]
