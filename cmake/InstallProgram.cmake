# Installs the program, with what it prints of itself where shells and man look for it.
function(onnx_mem_install_program program)
  install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
  foreach(page "man|${CMAKE_INSTALL_MANDIR}/man1/onnx-mem.1"
               "completion bash|${CMAKE_INSTALL_DATADIR}/bash-completion/completions/onnx-mem"
               "completion zsh|${CMAKE_INSTALL_DATADIR}/zsh/site-functions/_onnx-mem"
               "completion fish|${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d/onnx-mem.fish")
    string(REGEX REPLACE "[|].*" "" words "${page}")
    string(REGEX REPLACE ".*[|]" "" path "${page}")
    string(REPLACE " " ";" words "${words}")
    set(code [[
      set(to "@path@")
      cmake_path(ABSOLUTE_PATH to BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}")
      set(to "$ENV{DESTDIR}${to}")
      cmake_path(GET to PARENT_PATH folder)
      file(MAKE_DIRECTORY "${folder}")
      execute_process(COMMAND "@program@" @words@ OUTPUT_FILE "${to}" COMMAND_ERROR_IS_FATAL ANY)
    ]])
    string(REPLACE "@path@" "${path}" code "${code}")
    string(REPLACE "@words@" "${words}" code "${code}")
    string(REPLACE "@program@" "$<TARGET_FILE:${program}>" code "${code}")
    install(CODE "${code}" COMPONENT program)
  endforeach()
endfunction()
