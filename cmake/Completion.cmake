# The manual page and the completion of shells, which the program prints from its own tables of flags. They are written
# when the program is linked, so that they are there whichever target was built.
set(folder ${PROJECT_BINARY_DIR}/share)
file(MAKE_DIRECTORY ${folder})
set(program $<TARGET_FILE:attention-plasticity>)
add_custom_command(TARGET attention-plasticity POST_BUILD
  COMMAND ${program} man > ${folder}/attention-plasticity.1
  COMMAND ${program} completion bash > ${folder}/attention-plasticity.bash
  COMMAND ${program} completion zsh > ${folder}/attention-plasticity.zsh
  COMMAND ${program} completion fish > ${folder}/attention-plasticity.fish
  VERBATIM)
if(AP_INSTALL)
  install(FILES ${folder}/attention-plasticity.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${folder}/attention-plasticity.bash
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME attention-plasticity)
  install(FILES ${folder}/attention-plasticity.zsh
    DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions RENAME _attention-plasticity)
  install(FILES ${folder}/attention-plasticity.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
