// The program that eco-exec is to start.
#pragma once

#include <string>

namespace eco::preload {

// Local. The file that execvp would run for `program`; empty if there is none.
std::string find_program(const std::string& program);

// Why ECO can't get under this executable and it must run with the MPI library alone; empty if nothing speaks against
// it. Which languages call MPI is judged by the preload, which sees what is loaded.
std::string why_native(const std::string& path);

}  // namespace eco::preload
