// What a program would load at its start.
#pragma once

#include <string>
#include <string_view>

namespace eco::preload {

// Local. The file that execvp would run for `program`; empty if there is none.
std::string find_program(const std::string& program);

// Why ECO can't serve this executable and it must run with the MPI library alone; empty if nothing speaks against it.
// A script or an interpreter is judged by what it loads at its start, which is all that can be known here. Throws
// std::runtime_error if the loader does not answer.
std::string why_native(const std::string& path);

// True for a library that gives Fortran its MPI ("libmpi_mpifh.so.40").
bool is_fortran_mpi(std::string_view file_name);

}  // namespace eco::preload
