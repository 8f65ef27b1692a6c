# Settings that every library and program of this project shares: include paths start at the root, warnings are loud.
add_library(onnx_mem_settings INTERFACE)
target_include_directories(onnx_mem_settings INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(onnx_mem_settings INTERFACE -Wall -Wextra -Wpedantic $<$<BOOL:${ONNX_MEM_WERROR}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # False alarms of GCC 12: the copy of an empty absl::InlinedVector is no read of its unused slots, and the
  # std::string of a literal plus another string overlaps nothing (GCC bug 105651).
  target_compile_options(onnx_mem_settings INTERFACE -Wno-maybe-uninitialized -Wno-restrict)
  # The compiler looks for what it may forget once it holds 500 MB, not every few: a tenth of its time, for 300 MB more.
  target_compile_options(onnx_mem_settings INTERFACE "SHELL:--param ggc-min-heapsize=500000")
endif()
if(MINGW)  # the one compiler for Windows: sources use POSIX and 128-bit integers
  add_library(onnx_mem_windows STATIC ${PROJECT_SOURCE_DIR}/windows/posix.cc)
  target_include_directories(onnx_mem_windows PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(onnx_mem_settings INTERFACE _FILE_OFFSET_BITS=64)
  target_include_directories(onnx_mem_settings INTERFACE ${PROJECT_SOURCE_DIR}/windows)
  target_compile_options(onnx_mem_settings INTERFACE "SHELL:-include ${PROJECT_SOURCE_DIR}/windows/posix.h")
  target_link_libraries(onnx_mem_settings INTERFACE onnx_mem_windows -static)
endif()
if(ONNX_MEM_LIBFUZZER)  # what the programs of fuzz/ reach is counted in every library, or nothing would lead them
  target_compile_options(onnx_mem_settings INTERFACE -fsanitize=fuzzer-no-link)
  target_link_options(onnx_mem_settings INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(ONNX_MEM_SANITIZE)
  # Without the checks of each pointer that is followed: a null one ends the program anyway, of a wrong object the
  # address sanitizer tells, and they are half of what a compiler has to do here.
  set(sanitizer_flags -fsanitize=address,undefined -fno-sanitize=null,alignment,vptr,object-size
                      -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_compile_options(onnx_mem_settings INTERFACE ${sanitizer_flags})
  target_link_options(onnx_mem_settings INTERFACE ${sanitizer_flags})
endif()

# Compiles files together: most of a compiler's time goes into headers and into what is made of their templates, once for
# them all. The rooms (folders) of a target are dealt to as many units of about this many files as it needs; a room
# is compiled whole. ONNX_MEM_UNITY=OFF compiles each file alone.
set(ONNX_MEM_FILES_TOGETHER 40)

# onnx_mem_compile_together(TARGET [SEPARATE_ROOMS]): with SEPARATE_ROOMS no two rooms are joined.
function(onnx_mem_compile_together target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "SEPARATE_ROOMS" "" "")
  if(NOT ONNX_MEM_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  set(rooms)
  foreach(source IN LISTS sources)
    cmake_path(GET source PARENT_PATH room)
    list(APPEND rooms "${room}/")
    list(APPEND "files_of_${room}/" ${source})
  endforeach()
  list(REMOVE_DUPLICATES rooms)
  list(LENGTH sources files)
  math(EXPR units "(${files} + ${ONNX_MEM_FILES_TOGETHER} - 1) / ${ONNX_MEM_FILES_TOGETHER}")
  set(before 0)
  foreach(room IN LISTS rooms)
    list(LENGTH "files_of_${room}" count)
    math(EXPR unit "(2 * ${before} + ${count}) * ${units} / (2 * ${files})")  # the one that its middle falls into
    math(EXPR before "${before} + ${count}")
    if(arg_SEPARATE_ROOMS)
      string(MAKE_C_IDENTIFIER "${target}_${room}" group)
    else()
      set(group ${target}_${unit})
    endif()
    set_source_files_properties(${files_of_${room}} PROPERTIES UNITY_GROUP ${group})
  endforeach()
endfunction()

# Headers of the standard library and Abseil are a third of what the compiler reads: cmake/precompiled/NAME.h is read once
# for all targets that onnx_mem_precompiled names. GCC alone, and with ONNX_MEM_UNITY only, so that a file compiled alone
# shows what it forgot to include.
if(ONNX_MEM_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL GNU AND NOT WIN32)
  set(ONNX_MEM_PRECOMPILE ON)
endif()

# onnx_mem_precompiled(TARGET NAME [LIBRARY ...]): the LIBRARY's headers are in NAME.h too.
function(onnx_mem_precompiled target name)
  if(NOT ONNX_MEM_PRECOMPILE)
    return()
  endif()
  set(owner onnx_mem_precompiled_${name})
  if(NOT TARGET ${owner})
    set(source ${PROJECT_BINARY_DIR}/precompiled_${name}.cc)
    file(GENERATE OUTPUT ${source} CONTENT "")
    add_library(${owner} OBJECT ${source})
    get_target_property(independent ${target} POSITION_INDEPENDENT_CODE)
    if(independent)
      onnx_mem_for_shared_library(${owner})
    endif()
    target_link_libraries(${owner} PRIVATE onnx_mem_settings absl::flat_hash_map absl::flat_hash_set absl::statusor
                                           absl::str_format ${ARGN})
    target_compile_options(${owner} PRIVATE -fpch-preprocess)
    target_precompile_headers(${owner} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/precompiled/${name}.h)
  endif()
  target_compile_options(${target} PRIVATE -fpch-preprocess)  # for ccache
  target_precompile_headers(${target} REUSE_FROM ${owner})
endfunction()

# What is compiled for the program goes into the shared library too. Hidden symbols cannot be replaced from outside, so
# that calls stay direct and the compiler inlines as it does for a program.
function(onnx_mem_for_shared_library target)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden
                                             VISIBILITY_INLINES_HIDDEN ON)
endfunction()

# Code that runs once for an answer (options, reports) is compiled in four fifths of the time, and nobody waits for it.
function(onnx_mem_runs_seldom target)
  target_compile_options(${target} PRIVATE $<$<AND:$<CONFIG:Release>,$<CXX_COMPILER_ID:GNU,Clang,AppleClang>>:-O1>)
endfunction()

# onnx_mem_library(NAME [RUNS_SELDOM] [ROOMS a b ...] [PUBLIC ...] [PRIVATE ...]): a static library of every source file
# in this folder or, with ROOMS, in those folders below it, so that a new file needs no line here.
function(onnx_mem_library target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "RUNS_SELDOM" "" "ROOMS;PUBLIC;PRIVATE")
  set(patterns *.cc)
  if(arg_ROOMS)
    list(TRANSFORM arg_ROOMS APPEND /*.cc OUTPUT_VARIABLE patterns)
  endif()
  file(GLOB sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${patterns})
  add_library(${target} STATIC ${sources})
  onnx_mem_compile_together(${target})
  onnx_mem_for_shared_library(${target})
  onnx_mem_precompiled(${target} libraries)
  if(arg_RUNS_SELDOM)
    onnx_mem_runs_seldom(${target})
  endif()
  target_link_libraries(${target} PUBLIC onnx_mem_settings ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
endfunction()

# Adds the named subfolders of the current folder that have a CMakeLists.txt.
function(onnx_mem_add_folders)
  foreach(folder IN LISTS ARGN)
    if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/CMakeLists.txt)
      add_subdirectory(${folder})
    endif()
  endforeach()
endfunction()
