# Objects come from ccache where it is installed, unless CMAKE_CXX_COMPILER_LAUNCHER names another launcher or none. Paths of
# the project count as relative to it, so that its clones share what one of them has compiled.
if(PROJECT_IS_TOP_LEVEL AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(AP_CCACHE ccache)
  mark_as_advanced(AP_CCACHE)
  if(AP_CCACHE)
    # The sloppiness is what ccache asks for to take files with precompiled headers.
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
        CCACHE_SLOPPINESS=pch_defines,time_macros ${AP_CCACHE})
  endif()
endif()
