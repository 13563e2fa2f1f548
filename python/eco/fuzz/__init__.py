"""Random programs of collectives, run without ECO and with it, and compared byte by byte.

`campaign.run` is the whole; `steps` says what a program is, `generate` makes one, `recipes` plans that nobody would
choose, `runs` starts the ranks and compares what they saw, `shrink` makes a failing case small. docs/fuzzing.md.
"""
