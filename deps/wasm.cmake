# WASM_OPTIONS: how everything is configured that becomes WebAssembly; WASM_PROTOC: the machine's protoc, which has the
# version of the library.
find_program(WASM_EMCC emcc)
find_program(WASM_PROTOC protoc)
if(NOT WASM_EMCC OR NOT WASM_PROTOC)
  message(FATAL_ERROR "WebAssembly wants emscripten and protoc ${protobuf_PACKAGE_VERSION}: apt-get install emscripten "
                      "protobuf-compiler")
endif()
execute_process(COMMAND em-config EMSCRIPTEN_ROOT OUTPUT_VARIABLE root OUTPUT_STRIP_TRAILING_WHITESPACE
                COMMAND_ERROR_IS_FATAL ANY)
# Debian's emscripten finds its own JavaScript packages with Debian's node alone.
if(NOT DEFINED ENV{NODE_PATH})
  set(ENV{NODE_PATH} /usr/share/nodejs)
endif()
# The machine's packages that are headers alone, apart from all else that lies in /usr/include.
function(copy_system_headers prefix)
  foreach(pair CLI/CLI.hpp=CLI11 nlohmann/json.hpp=nlohmann_json)
    string(REGEX MATCH "^([^/]+)/(.*)=(.*)$" whole ${pair})
    set(folder ${CMAKE_MATCH_1})
    set(package ${CMAKE_MATCH_3})
    find_path(include_${package} ${folder}/${CMAKE_MATCH_2} PATHS /usr/local/include /usr/include REQUIRED)
    find_path(config_${package} NAMES ${package}Config.cmake PATHS ${include_${package}}/../share/cmake
              ${include_${package}}/../lib/cmake PATH_SUFFIXES ${package} REQUIRED)
    file(COPY ${include_${package}}/${folder} DESTINATION ${prefix}/include)
    file(COPY ${config_${package}} DESTINATION ${prefix}/share/cmake)
  endforeach()
endfunction()

set(WASM_OPTIONS -DCMAKE_TOOLCHAIN_FILE=${root}/cmake/Modules/Platform/Emscripten.cmake
    -DCMAKE_BUILD_TYPE=MinSizeRel "-DCMAKE_CXX_FLAGS_MINSIZEREL=-Oz -DNDEBUG" "-DCMAKE_C_FLAGS_MINSIZEREL=-Oz -DNDEBUG"
    "-DCMAKE_CXX_FLAGS=-fwasm-exceptions -D__ONNX_NO_DOC_STRINGS"
    -DCMAKE_HAVE_LIBC_PTHREAD=TRUE)  # a single thread has the functions too
