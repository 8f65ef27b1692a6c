# Settings that every library and program of this project shares: include paths start at the root, warnings are loud.
add_library(onnx_mem_settings INTERFACE)
target_include_directories(onnx_mem_settings INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(onnx_mem_settings INTERFACE -Wall -Wextra -Wpedantic $<$<BOOL:${ONNX_MEM_WERROR}>:-Werror>)

function(onnx_mem_library target)
  target_link_libraries(${target} PUBLIC onnx_mem_settings)
endfunction()
