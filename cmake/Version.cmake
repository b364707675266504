# cmake -DSOURCE_DIR=... -DVERSION=... -DTEMPLATE=... -DOUTPUT=... -P Version.cmake
# Runs at every build, and touches the output only when the commit changed.
set(AP_VERSION ${VERSION})
set(AP_COMMIT unknown)
execute_process(COMMAND git -C ${SOURCE_DIR} describe --always --dirty --abbrev=12 --exclude *
                OUTPUT_VARIABLE described RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT failed)
  set(AP_COMMIT ${described})
endif()
configure_file(${TEMPLATE} ${OUTPUT} @ONLY)
