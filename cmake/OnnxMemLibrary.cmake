# Settings that every library and program of this project shares: include paths start at the root, warnings are loud.
add_library(onnx_mem_settings INTERFACE)
target_include_directories(onnx_mem_settings INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(onnx_mem_settings INTERFACE -Wall -Wextra -Wpedantic $<$<BOOL:${ONNX_MEM_WERROR}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # False alarms of GCC 12: the copy of an empty absl::InlinedVector is no read of its unused slots, and the
  # std::string of a literal plus another string overlaps nothing (GCC bug 105651).
  target_compile_options(onnx_mem_settings INTERFACE -Wno-maybe-uninitialized -Wno-restrict)
endif()
if(ONNX_MEM_SANITIZE)
  set(sanitizer_flags -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_compile_options(onnx_mem_settings INTERFACE ${sanitizer_flags})
  target_link_options(onnx_mem_settings INTERFACE ${sanitizer_flags})
endif()

function(onnx_mem_library target)
  target_link_libraries(${target} PUBLIC onnx_mem_settings)
endfunction()

# Adds the named subfolders of the current folder that have a CMakeLists.txt.
function(onnx_mem_add_folders)
  foreach(folder IN LISTS ARGN)
    if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/CMakeLists.txt)
      add_subdirectory(${folder})
    endif()
  endforeach()
endfunction()
