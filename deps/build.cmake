# Builds packages of packages.cmake as static libraries into PREFIX, which appears whole or not at all.
#
#   cmake -DPREFIX=DIR -DPACKAGES="zlib abseil protobuf ONNX" [-DSOURCES=DIR] [-DSDIST=FILE] [-DWASM=ON]
#         [-DGENERATOR=...] [-DCXX_COMPILER=...] [-DCXX_COMPILER_LAUNCHER=...] -P deps/build.cmake
#
# SOURCES is where source packages are kept; SDIST that of ONNX, instead of downloading it. WASM: with emscripten, as
# small as it gets, exceptions as WebAssembly has them (every browser since 2022).
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/fetch.cmake)

if(NOT PREFIX)
  message(FATAL_ERROR "PREFIX is not set")
endif()
cmake_path(ABSOLUTE_PATH PREFIX NORMALIZE)
set(work ${PREFIX}.build)
if(NOT SOURCES)
  set(SOURCES ${work}/packages)
endif()
cmake_path(ABSOLUTE_PATH SOURCES NORMALIZE)
file(MAKE_DIRECTORY ${work})
file(LOCK ${work}.lock TIMEOUT 1800)
if(EXISTS ${PREFIX})  # another configure run was building it
  return()
endif()

set(options -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_STANDARD=20 -DCMAKE_POSITION_INDEPENDENT_CODE=ON
    -DCMAKE_INSTALL_PREFIX=${work}/install -DCMAKE_INSTALL_LIBDIR=lib -DBUILD_SHARED_LIBS=OFF)
foreach(pair GENERATOR=-G CXX_COMPILER=-DCMAKE_CXX_COMPILER= CXX_COMPILER_LAUNCHER=-DCMAKE_CXX_COMPILER_LAUNCHER=)
  string(REGEX MATCH "^([A-Z_]+)=(.*)$" whole ${pair})
  if(${CMAKE_MATCH_1})
    list(APPEND options ${CMAKE_MATCH_2}${${CMAKE_MATCH_1}})
  endif()
endforeach()
set(protobuf_options -Dprotobuf_BUILD_TESTS=OFF -Dprotobuf_WITH_ZLIB=OFF)
set(abseil_options -DABSL_PROPAGATE_CXX_STD=ON -DBUILD_TESTING=OFF)
set(ONNX_options -DONNX_ML=ON -DONNX_BUILD_PYTHON=OFF -DONNX_USE_PROTOBUF_SHARED_LIBS=ON)
if(WASM)
  include(${CMAKE_CURRENT_LIST_DIR}/wasm.cmake)
  list(APPEND protobuf_options -Dprotobuf_BUILD_PROTOC_BINARIES=OFF)  # the host's generates
  list(APPEND options ${WASM_OPTIONS} -DCMAKE_FIND_ROOT_PATH=${work}/install
       -DCMAKE_FIND_PACKAGE_PREFER_CONFIG=ON)
  set(ONNX_options -DONNX_ML=ON -DONNX_BUILD_PYTHON=OFF -DONNX_USE_PROTOBUF_SHARED_LIBS=OFF -DONNX_USE_LITE_PROTO=ON
      -DONNX_CUSTOM_PROTOC_EXECUTABLE=${WASM_PROTOC})
endif()

cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
string(REPLACE " " ";" PACKAGES "${PACKAGES}")
foreach(name IN LISTS PACKAGES)
  if(name STREQUAL "ONNX" AND SDIST)
    check_package(ONNX ${SDIST})
    file(MAKE_DIRECTORY ${SOURCES})
    file(COPY_FILE ${SDIST} ${SOURCES}/${ONNX_PACKAGE_FILE})
  endif()
  fetch_package(${name} ${SOURCES})
  file(REMOVE_RECURSE ${work}/${name})
  file(ARCHIVE_EXTRACT INPUT ${SOURCES}/${${name}_PACKAGE_FILE} DESTINATION ${work}/${name})
  file(GLOB source ${work}/${name}/*)  # the one folder in it
  run_logged(${work}/${name}.log ${CMAKE_COMMAND} -DPACKAGE=${name} -DSOURCE=${source} -DWASM=${WASM}
             -P ${CMAKE_CURRENT_LIST_DIR}/patch.cmake)
  message(NOTICE "${name} ${${name}_PACKAGE_VERSION}: building into ${PREFIX}")
  run_logged(${work}/${name}.log ${CMAKE_COMMAND} -S ${source} -B ${work}/${name}/build ${options} ${${name}_options})
  run_logged(${work}/${name}.log ${CMAKE_COMMAND} --build ${work}/${name}/build --target install --parallel ${cores})
  file(REMOVE_RECURSE ${work}/${name})
endforeach()
if(WASM)
  copy_system_headers(${work}/install)
endif()
file(RENAME ${work}/install ${PREFIX})
file(REMOVE_RECURSE ${work})
