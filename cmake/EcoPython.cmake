# eco._core: python/src/module.cc and one file per bound core module, with a stub generated from the built module.
function(eco_add_python_module)
  find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
  execute_process(COMMAND "${Python_EXECUTABLE}" -m nanobind --cmake_dir OUTPUT_STRIP_TRAILING_WHITESPACE
    OUTPUT_VARIABLE nanobind_ROOT COMMAND_ERROR_IS_FATAL ANY)
  find_package(nanobind CONFIG REQUIRED)
  eco_glob(sources python/src)
  nanobind_add_module(_core NB_STATIC NOMINSIZE ${sources})
  eco_compile_together(_core)
  target_link_libraries(_core PRIVATE eco_core)
  install(TARGETS _core LIBRARY DESTINATION eco)
  nanobind_add_stub(_core_stub MODULE _core OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/_core.pyi"
    PYTHON_PATH $<TARGET_FILE_DIR:_core> DEPENDS _core)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/_core.pyi" DESTINATION eco)
  # Read at run time; an editable installation reads those of the checkout.
  if(NOT SKBUILD_STATE STREQUAL "editable")
    install(DIRECTORY data networks DESTINATION eco OPTIONAL)
  endif()
endfunction()
