# The program as the Python wheel carries it: bin/onnx-mem with everything but the C library linked into it. A library that
# the machine has no static form of goes beside it, into lib/.
set(ONNX_MEM_OF_THE_C_LIBRARY "^ld-linux" "^lib(c|m|dl|rt|pthread)\\.so" "^/usr/lib/lib(System|c\\+\\+)")

# The program of build/release, where that build folder is there: `pip install .` after scripts/demo compiles nothing
# twice. It must need nothing but the C library (cmake/LinkStaticForms.cmake), or else the wheel's own form is built.
# Sets ONNX_MEM_BUILT_PROGRAM to its path, up to date; to "" where there is none such.
function(onnx_mem_find_built_program)
  set(ONNX_MEM_BUILT_PROGRAM "" PARENT_SCOPE)
  set(build ${PROJECT_SOURCE_DIR}/build/release)
  set(program ${build}/cli/onnx-mem)
  if(NOT ONNX_MEM_WHEEL_OF_BUILD OR NOT EXISTS ${program} OR NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
    return()
  endif()
  load_cache(${build} READ_WITH_PREFIX built_ CMAKE_BUILD_TYPE CMAKE_HOME_DIRECTORY ONNX_MEM_SANITIZE)
  if(NOT built_CMAKE_BUILD_TYPE STREQUAL "Release" OR NOT built_CMAKE_HOME_DIRECTORY STREQUAL PROJECT_SOURCE_DIR
     OR built_ONNX_MEM_SANITIZE)
    return()
  endif()
  message(STATUS "wheel: bringing ${build} up to date")
  execute_process(COMMAND ${CMAKE_COMMAND} --build ${build} --target onnx-mem OUTPUT_QUIET RESULT_VARIABLE failed)
  if(failed)
    message(STATUS "wheel: ${build} does not build; building another")
    return()
  endif()
  file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${program} RESOLVED_DEPENDENCIES_VAR libraries
       UNRESOLVED_DEPENDENCIES_VAR missing PRE_EXCLUDE_REGEXES ${ONNX_MEM_OF_THE_C_LIBRARY})
  if(libraries OR missing)
    message(STATUS "wheel: ${program} needs ${libraries} ${missing}; building another")
    return()
  endif()
  set(ONNX_MEM_BUILT_PROGRAM ${program} PARENT_SCOPE)
endfunction()

# Before the packages are looked for. Abseil has no setting for this: where a distribution ships both forms, its targets
# name the shared ones. (A macro: where they are found, and what the settings are, is the caller's.)
macro(onnx_mem_prefer_static_forms)
  set(Protobuf_USE_STATIC_LIBS ON)
  set(ZLIB_USE_STATIC_LIBS ON)
  find_package(absl REQUIRED)
  get_property(imported DIRECTORY PROPERTY IMPORTED_TARGETS)
  foreach(target IN LISTS imported)
    get_target_property(type ${target} TYPE)
    if(target MATCHES "^absl::" AND type STREQUAL SHARED_LIBRARY)
      onnx_mem_prefer_static_form(${target})
    endif()
  endforeach()
endmacro()

function(onnx_mem_prefer_static_form target)
  get_target_property(configurations ${target} IMPORTED_CONFIGURATIONS)
  foreach(configuration IN LISTS configurations)
    get_target_property(shared ${target} IMPORTED_LOCATION_${configuration})
    string(REGEX REPLACE "\\.so[.0-9]*$" ".a" static "${shared}")
    if(NOT static STREQUAL shared AND EXISTS ${static})
      set_target_properties(${target} PROPERTIES IMPORTED_LOCATION_${configuration} ${static})
    endif()
  endforeach()
endfunction()

# Called where the program is there.
function(onnx_mem_install_for_wheel program)
  set_target_properties(${program} PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
  if(UNIX AND NOT APPLE)
    # RPATH, not RUNPATH: it also serves the libraries that are linked by libraries.
    target_link_options(${program} PRIVATE -static-libstdc++ -static-libgcc -Wl,--disable-new-dtags)
  endif()
  install(TARGETS ${program} RUNTIME DESTINATION bin COMPONENT wheel)
  # Each library once, under the name that it is loaded by: a wheel holds no links.
  set(carry [[
    file(GET_RUNTIME_DEPENDENCIES EXECUTABLES "@path@" RESOLVED_DEPENDENCIES_VAR libraries PRE_EXCLUDE_REGEXES @own@)
    foreach(library IN LISTS libraries)
      get_filename_component(name "${library}" NAME)
      file(REAL_PATH "${library}" real)
      file(MAKE_DIRECTORY "${CMAKE_INSTALL_PREFIX}/lib")
      file(COPY_FILE "${real}" "${CMAKE_INSTALL_PREFIX}/lib/${name}")
    endforeach()
  ]])
  string(REPLACE "@path@" "$<TARGET_FILE:${program}>" carry "${carry}")
  list(JOIN ONNX_MEM_OF_THE_C_LIBRARY "]==] [==[" own)
  set(own "[==[${own}]==]")
  string(REPLACE "@own@" "${own}" carry "${carry}")
  install(CODE "${carry}" COMPONENT wheel)
endfunction()
