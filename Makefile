# `make` lists the targets. Each one sets up what it needs, once: see tools/setup.
PYTHON ?= python3
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# The interpreter that makes .venv is the caller's: looked for before .venv comes first on PATH.
SETUP := $(shell command -v $(PYTHON)) tools/setup
export PATH := $(CURDIR)/.venv/bin:$(PATH)

CPP_FILES = git ls-files -co --exclude-standard '*.h' '*.cc' '*.c'
# Scripts, no package: each finds what lies beside it.
BENCHMARKS = bench/*.py $(addsuffix /run.py,$(addprefix bench/,overhead native_call_overhead topologies programs))
QUICK := not lab and not mpi and not slow
IN_CI := not ucx and not long
# Tests on emulated networks see times, so nothing runs beside those.
TWO_AT_ONCE := pytest -n 2 --dist worksteal

.PHONY: help setup more-mpi fortran aarch64 simgrid scotch programs build demo test fast test-cpp test-python long ucx mpi4py lint format tidy asan tsan clean distclean

help:  ## this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## (.*)/  make \1\t\2/' | expand -t 22

setup:  ## system packages, .venv and the MPI libraries; a second run installs nothing
	@$(SETUP) system python mpi

more-mpi: setup  ## Open MPI 4, MPICH 4 and Intel MPI, for the tests of every MPI library; 600 MB
	@$(SETUP) more-mpi

fortran:  ## gfortran and the system's Open MPI and MPICH, for the tests of Fortran; 200 MB
	@$(SETUP) fortran

aarch64: setup  ## compiler and emulator for aarch64, for the tests of its stubs; 400 MB
	@$(SETUP) aarch64

simgrid:  ## SimGrid, for bench/simgrid and its test; 200 MB
	@$(SETUP) simgrid

scotch:  ## Scotch, by which eco/map maps graphs too; before `make build`; 2 MB
	@$(SETUP) scotch

programs: setup  ## Quantum ESPRESSO, hpcc, LAMMPS and mpi4py-fft, for bench/programs and its test; 600 MB
	@$(SETUP) programs

build: setup  ## and ECO itself: native files and the Python package, editable
	@$(SETUP) native

demo: build  ## the main job from end to end: measure a network, then run programs faster on it
	@eco demo

test: lint test-cpp test-python  ## everything that CI runs

fast: build  ## the tier for between two edits: no network is brought up, no MPI started
	@ruff check --quiet
	@ctest --test-dir build/python --output-on-failure --no-tests=error -j2 --quiet
	@$(TWO_AT_ONCE) -q -m '$(QUICK)'

test-cpp: build  ## the C++ tests
	@ctest --test-dir build/python --output-on-failure --no-tests=error -j2 --progress

test-python: build  ## the Python tests, with emulated networks and both MPI libraries
	@status=0; $(TWO_AT_ONCE) -m 'not lab and $(IN_CI)' || status=$$?; pytest -m 'lab and $(IN_CI)' || status=$$?; exit $$status

long: build  ## what CI shows in short, at length: minutes, not part of CI
	@$(TWO_AT_ONCE) -m long

ucx: build  ## programs over UCX, on this host and in the lab: five minutes, not part of CI
	@status=0; $(TWO_AT_ONCE) -m 'not lab and ucx' || status=$$?; pytest -m 'lab and ucx' || status=$$?; exit $$status

mpi4py: build  ## mpi4py's own tests, stock and with ECO serving: an hour, not part of CI
	@tools/mpi4py-suite

lint: build  ## formats, ruff and mypy; changes nothing
	@$(CPP_FILES) | xargs clang-format --dry-run -Werror
	@ruff check
	@ruff format --check
	@mypy
	@MYPYPATH=python:bench:bench/programs:bench/simgrid mypy --explicit-package-bases $(BENCHMARKS)
	@MYPYPATH=python:bench/simgrid:bench mypy --explicit-package-bases bench/simgrid/*.py

format: setup  ## lay out all sources
	@$(CPP_FILES) | xargs clang-format -i
	@ruff check --fix
	@ruff format

tidy: build  ## clang-tidy over the core
	@$(SETUP) tidy
	@git ls-files 'eco/*.cc' | grep -v '^eco/transport/mpi/' | xargs -P2 -n4 clang-tidy --quiet -p build/python

asan: setup  ## the C++ tests under the address and undefined-behaviour sanitizers
	@cmake --preset asan-ubsan && cmake --build --preset asan-ubsan --target eco_tests
	@ctest --preset asan-ubsan --no-tests=error -j2

tsan: setup  ## the C++ tests under the thread sanitizer
	@cmake --preset tsan && cmake --build --preset tsan --target eco_tests
	@ctest --preset tsan --no-tests=error -j2

clean:  ## remove what was built
	@rm -rf build demo .mypy_cache .ruff_cache .pytest_cache

distclean: clean  ## and what was installed
	@rm -rf .venv python/eco/_core.pyi
