"""Decisions among another library's own algorithms, measured, and written as that library's own files.

Read `record.py` (what was measured), `decide.py` (which rules follow from it), `measure.py` (how it is measured);
`openmpi.py`, `mpich.py` and `ucc.py` write, `tables.py` reads what is known of each version. docs/exporting.md.
"""
