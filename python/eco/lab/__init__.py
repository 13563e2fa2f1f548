"""Emulated networks: hosts are namespaces, the network between them is one relay process."""

from eco.lab.description import Description
from eco.lab.lab import Lab, Streams
from eco.lab.reading import load, parse

__all__ = ["Description", "Lab", "Streams", "load", "parse"]
