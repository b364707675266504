# ap_web_page(<variable>): builds the page of `report` from web/, and sets the variable to a source that holds it. With
# AP_BUILD_REPORT=OFF the page is empty, and `report` says so. A source archive carries the page ready-made, as
# web/page.html, so that it builds without Node; in a clone that file is not looked at, since it may be old.
function(ap_web_page variable)
  set(page_file ${CMAKE_CURRENT_BINARY_DIR}/page.html)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/page_template.cc)
  if(NOT AP_BUILD_REPORT)
    file(WRITE ${page_file} "")
  elseif(EXISTS ${PROJECT_SOURCE_DIR}/web/page.html AND NOT EXISTS ${PROJECT_SOURCE_DIR}/.git)
    file(COPY_FILE ${PROJECT_SOURCE_DIR}/web/page.html ${page_file} ONLY_IF_DIFFERENT)
  else()
    file(GLOB web_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/web/src/*)
    add_custom_command(OUTPUT ${page_file}
      COMMAND ${PROJECT_SOURCE_DIR}/tools/web_build.sh ${page_file}
      DEPENDS ${web_sources} ${PROJECT_SOURCE_DIR}/tools/web_build.sh ${PROJECT_SOURCE_DIR}/web/build.mjs
              ${PROJECT_SOURCE_DIR}/web/package-lock.json ${PROJECT_SOURCE_DIR}/web/tsconfig.json
      COMMENT "Building the page of the report"
      VERBATIM)
  endif()
  configure_file(page_template.cc.in ${source} @ONLY)
  set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS ${page_file})
  set(${variable} ${source} PARENT_SCOPE)
endfunction()
