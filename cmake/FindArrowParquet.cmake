# Arrow C++ and Parquet as the targets Arrow::arrow and Arrow::parquet, and in ArrowParquet_LIBRARIES the files to
# ship beside an installed program (empty when the system provides them).
#
# Installed CMake packages come first. Debian 12 has none; there a pyarrow wheel brings headers and the shared libraries,
# which need no Python at run time: the one in AP_PYARROW, in .venv, or of the python3 on the path. The Python package takes
# the one in AP_PYARROW and no other.

if(NOT AP_PYTHON)
  find_package(Arrow QUIET CONFIG)
  find_package(Parquet QUIET CONFIG)
endif()
set(ArrowParquet_LIBRARIES "")
if(Arrow_FOUND AND Parquet_FOUND)
  add_library(Arrow::arrow ALIAS Arrow::arrow_shared)
  add_library(Arrow::parquet ALIAS Parquet::parquet_shared)
  set(ArrowParquet_SOURCE "CMake package")
else()
  file(GLOB pyarrow_dirs ${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/pyarrow)
  list(PREPEND pyarrow_dirs ${AP_PYARROW})
  if(NOT pyarrow_dirs)
    execute_process(COMMAND python3 -c "import os, pyarrow; print(os.path.dirname(pyarrow.__file__))"
      OUTPUT_VARIABLE pyarrow_dirs OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  foreach(pyarrow_dir IN LISTS pyarrow_dirs)
    file(GLOB libarrow ${pyarrow_dir}/libarrow.so.*)
    file(GLOB libparquet ${pyarrow_dir}/libparquet.so.*)
    if(libarrow AND libparquet)
      add_library(Arrow::arrow SHARED IMPORTED)
      set_target_properties(Arrow::arrow PROPERTIES IMPORTED_LOCATION ${libarrow}
                            INTERFACE_INCLUDE_DIRECTORIES ${pyarrow_dir}/include)
      add_library(Arrow::parquet SHARED IMPORTED)
      set_target_properties(Arrow::parquet PROPERTIES IMPORTED_LOCATION ${libparquet}
                            INTERFACE_LINK_LIBRARIES Arrow::arrow)
      # This libparquet contains an OpenSSL of its own and exports all of it. The system's libcrypto must be found before
      # it: otherwise libcrypto calls into libparquet, and whoever uses it in the process, such as Python's hashlib, crashes.
      if(OPENSSL_CRYPTO_LIBRARY)
        set_target_properties(Arrow::parquet PROPERTIES INTERFACE_LINK_OPTIONS
          "LINKER:--push-state,--no-as-needed,${OPENSSL_CRYPTO_LIBRARY},--pop-state")
      endif()
      set(ArrowParquet_LIBRARIES ${libarrow} ${libparquet})
      set(ArrowParquet_SOURCE "pyarrow wheel")
      break()
    endif()
  endforeach()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ArrowParquet REQUIRED_VARS ArrowParquet_SOURCE
  REASON_FAILURE_MESSAGE "no Arrow/Parquet CMake package and no pyarrow: run tools/setup.sh, or set AP_PYARROW")
