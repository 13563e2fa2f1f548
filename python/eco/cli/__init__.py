"""The command line: main.py holds the registry, every other file one command, callable without a shell."""
