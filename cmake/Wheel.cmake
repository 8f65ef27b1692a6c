# The program as the Python wheel carries it: bin/onnx-mem with everything but the C library linked into it. A library that
# the machine has no static form of goes beside it, into lib/. Included before the packages are looked for.
set(Protobuf_USE_STATIC_LIBS ON)
set(ZLIB_USE_STATIC_LIBS ON)

# Abseil has no such setting: where a distribution ships both forms, its targets name the shared ones.
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

find_package(absl REQUIRED)
get_property(imported DIRECTORY PROPERTY IMPORTED_TARGETS)
foreach(target IN LISTS imported)
  get_target_property(type ${target} TYPE)
  if(target MATCHES "^absl::" AND type STREQUAL SHARED_LIBRARY)
    onnx_mem_prefer_static_form(${target})
  endif()
endforeach()

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
    file(GET_RUNTIME_DEPENDENCIES EXECUTABLES "@path@" RESOLVED_DEPENDENCIES_VAR libraries
         PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|m|dl|rt|pthread)\\.so" "^/usr/lib/lib(System|c\\+\\+)")
    foreach(library IN LISTS libraries)
      get_filename_component(name "${library}" NAME)
      file(REAL_PATH "${library}" real)
      file(MAKE_DIRECTORY "${CMAKE_INSTALL_PREFIX}/lib")
      file(COPY_FILE "${real}" "${CMAKE_INSTALL_PREFIX}/lib/${name}")
    endforeach()
  ]])
  string(REPLACE "@path@" "$<TARGET_FILE:${program}>" carry "${carry}")
  install(CODE "${carry}" COMPONENT wheel)
endfunction()
