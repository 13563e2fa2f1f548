# data/abis.json, the table of MPI's binary interfaces, for CMake and (as eco_abis.inc) for the trampoline and eco-exec.
#
#   eco_read_abis()            ECO_ABIS, a list of names, and eco_<abi>_environment, _header, _library, _define
#   eco_write_abi_table(DIR)   DIR/eco_abis.inc
#
# As a script, for tests that compile the trampoline by hand: cmake -D INTO=DIR -P cmake/EcoAbis.cmake

cmake_path(SET ECO_ABI_FILE NORMALIZE "${CMAKE_CURRENT_LIST_DIR}/../data/abis.json")

macro(eco_read_abis)
  if(NOT CMAKE_SCRIPT_MODE_FILE)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${ECO_ABI_FILE}")
  endif()
  file(READ "${ECO_ABI_FILE}" ECO_ABI_TEXT)
  set(ECO_ABIS)
  string(JSON n_abis LENGTH "${ECO_ABI_TEXT}" abis)
  math(EXPR last_abi "${n_abis} - 1")
  foreach(i RANGE ${last_abi})
    string(JSON abi GET "${ECO_ABI_TEXT}" abis ${i} name)
    list(APPEND ECO_ABIS ${abi})
    foreach(field IN ITEMS environment header library define)
      string(JSON eco_${abi}_${field} GET "${ECO_ABI_TEXT}" abis ${i} build ${field})
    endforeach()
  endforeach()
endmacro()

# ECO_ABI_NAME(name) once per ABI, ECO_ABI(name, soname, exports) once per name that its libraries have; the includer
# defines the one it wants.
function(eco_write_abi_table folder)
  set(names "#ifdef ECO_ABI_NAME\n")
  set(rows "#ifdef ECO_ABI\n")
  set(served "")
  set(i 0)
  foreach(abi IN LISTS ECO_ABIS)
    string(JSON exports GET "${ECO_ABI_TEXT}" abis ${i} exports)
    string(JSON serves GET "${ECO_ABI_TEXT}" abis ${i} serves)
    list(APPEND served "${serves}")
    string(APPEND names "ECO_ABI_NAME(\"${abi}\")\n")
    string(JSON n_sonames LENGTH "${ECO_ABI_TEXT}" abis ${i} sonames)
    math(EXPR last_soname "${n_sonames} - 1")
    foreach(k RANGE ${last_soname})
      string(JSON soname GET "${ECO_ABI_TEXT}" abis ${i} sonames ${k})
      string(APPEND rows "ECO_ABI(\"${abi}\", \"${soname}\", \"${exports}\")\n")
    endforeach()
    math(EXPR i "${i} + 1")
  endforeach()
  list(JOIN served ", " served)
  string(CONCAT text "// Written by CMake from data/abis.json.\n" "${names}#endif\n${rows}#endif\n"
    "#ifndef ECO_ABIS_SERVED\n#define ECO_ABIS_SERVED \"${served}\"\n#endif\n")
  file(CONFIGURE OUTPUT "${folder}/eco_abis.inc" CONTENT "${text}" @ONLY)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE)
  eco_read_abis()
  eco_write_abi_table("${INTO}")
endif()
