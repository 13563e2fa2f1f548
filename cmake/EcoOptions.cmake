# Options, compiler flags and where the MPI libraries are.

# scikit-build-core defines SKBUILD: then the wheel is wanted, not the tests.
if(SKBUILD)
  set(eco_tests_default OFF)
  set(eco_python_default ON)
else()
  set(eco_tests_default ${PROJECT_IS_TOP_LEVEL})
  set(eco_python_default OFF)
endif()
option(ECO_BUILD_TESTS "Build the C++ tests (needs GoogleTest)" ${eco_tests_default})
option(ECO_BUILD_PYTHON "Build the Python module eco._core (needs nanobind)" ${eco_python_default})
option(ECO_SCOTCH "Map graphs by Scotch too, where its static library is installed" ON)
option(ECO_UCX "Messages may go over UCX too, where its headers are installed" ON)
set(ECO_SANITIZE "" CACHE STRING "Sanitizers for everything that is built, e.g. address,undefined or thread")

# An MPI library is a prefix with the header and the library that data/abis.json names. `make setup` puts one of each
# kind under .venv/mpi, which "auto" finds, also when it appears after the first configuration.
eco_read_abis()
foreach(abi IN LISTS ECO_ABIS)
  string(MAKE_C_IDENTIFIER "${abi}" ABI)
  string(TOUPPER "${ABI}" ABI)
  set(ECO_${ABI}_PREFIX auto CACHE STRING "Prefix of a library of the ABI ${abi}; empty: its backend is left out")
  set(eco_${abi}_prefix "${ECO_${ABI}_PREFIX}")
  if(eco_${abi}_prefix STREQUAL "auto")
    set(eco_${abi}_prefix "${CMAKE_CURRENT_SOURCE_DIR}/.venv/mpi/${eco_${abi}_environment}")
    if(NOT EXISTS "${eco_${abi}_prefix}/include/${eco_${abi}_header}")
      set(eco_${abi}_prefix "")
    endif()
  endif()
endforeach()

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_SKIP_RPATH ON)  # which libmpi.so a rank loads is its launcher's choice, never the build's

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_C_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
endif()

# Every native target links this: warnings, the include root, sanitizers.
add_library(eco_flags INTERFACE)
target_include_directories(eco_flags INTERFACE "${CMAKE_CURRENT_SOURCE_DIR}")
target_compile_definitions(eco_flags INTERFACE ECO_VERSION="${PROJECT_VERSION}")
target_compile_options(eco_flags INTERFACE
  $<$<COMPILE_LANGUAGE:C,CXX>:-Wall> $<$<COMPILE_LANGUAGE:C,CXX>:-Wextra> $<$<COMPILE_LANGUAGE:C,CXX>:-Wpedantic>)
if(ECO_SANITIZE)
  target_compile_options(eco_flags INTERFACE -fsanitize=${ECO_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(eco_flags INTERFACE -fsanitize=${ECO_SANITIZE})
endif()

# What is loaded into somebody else's program carries its C++ runtime inside, with all of its symbols hidden.
add_library(eco_self_contained INTERFACE)
target_link_options(eco_self_contained INTERFACE -Wl,--exclude-libs,ALL)
if(NOT ECO_SANITIZE)
  target_link_options(eco_self_contained INTERFACE -static-libstdc++ -static-libgcc)
endif()
