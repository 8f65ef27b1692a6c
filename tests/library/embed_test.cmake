# Installs the library into a folder of its own, builds examples/embed against it, moves it, builds again by pkg-config,
# and runs both on a model.
#
#   cmake -DPROGRAM=onnx-mem -DBUILD=DIR -DSOURCE=DIR -DWORK=DIR -DGENERATOR=... -DCXX_COMPILER=... -DLIBDIR=lib
#         -DVERSION=0.1.0 [-DPKG_CONFIG=PROGRAM] [-DNM=PROGRAM] -P tests/library/embed_test.cmake
cmake_minimum_required(VERSION 3.25)

function(run result)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(failed)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nended with ${failed}:\n${output}")
  endif()
  set(${result} "${output}" PARENT_SCOPE)
endfunction()

set(model ${SOURCE}/testdata/models/resnet50.train.ts.op17.onnx)
run(report ${PROGRAM} ${model} --batch 64 --mode train --gpu "RTX 4090" --by category --format json)
string(JSON peak GET "${report}" runs 0 training peak_bytes)
string(JSON device GET "${report}" runs 0 training device_bytes)
function(expect_answers program)
  run(answer ${program} ${model} 64 "RTX 4090")
  if(NOT answer STREQUAL "peak ${peak} bytes in backward, ${device} on the GPU: fits RTX 4090\n")
    message(FATAL_ERROR "${program} told: ${answer}")
  endif()
  execute_process(COMMAND ${program} ${model} 256 "RTX 4090" RESULT_VARIABLE code OUTPUT_VARIABLE answer)
  if(NOT code EQUAL 1 OR NOT answer MATCHES "does not fit RTX 4090")
    message(FATAL_ERROR "${program} ended with ${code} and told: ${answer}")
  endif()
  execute_process(COMMAND ${program} ${SOURCE}/absent.onnx 64 "RTX 4090" RESULT_VARIABLE code ERROR_VARIABLE answer)
  if(NOT code EQUAL 2 OR NOT answer MATCHES "\\[not-found\\]")
    message(FATAL_ERROR "${program} ended with ${code} and told: ${answer}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
run(ignored ${CMAKE_COMMAND} --install ${BUILD} --component library --prefix ${WORK}/first)

# What is installed names no place of this machine, and shows nothing that the header does not declare.
file(GLOB_RECURSE texts ${WORK}/first/*.cmake ${WORK}/first/*.pc ${WORK}/first/*.h)
foreach(file IN LISTS texts)
  file(READ ${file} text)
  foreach(place ${BUILD} ${SOURCE} ${WORK})
    string(FIND "${text}" "${place}" found)
    if(NOT found EQUAL -1)
      message(FATAL_ERROR "${file} names ${place}")
    endif()
  endforeach()
endforeach()
if(NM)
  run(symbols ${NM} --dynamic --defined-only --demangle ${WORK}/first/${LIBDIR}/libonnx_mem.so)
  string(STRIP "${symbols}" symbols)
  string(REPLACE ";" "," symbols "${symbols}")
  string(REPLACE "\n" ";" symbols "${symbols}")
  foreach(symbol IN LISTS symbols)
    if(NOT symbol MATCHES "^[0-9a-f]+ T onnx_mem::api::")
      message(FATAL_ERROR "the library shows ${symbol}")
    endif()
  endforeach()
endif()

# By CMake, from a place to which the installed folder was moved.
file(RENAME ${WORK}/first ${WORK}/prefix)
run(ignored ${CMAKE_COMMAND} -S ${SOURCE}/examples/embed -B ${WORK}/cmake -G ${GENERATOR} -DCMAKE_BUILD_TYPE=Release
    -DCMAKE_CXX_COMPILER=${CXX_COMPILER} -DCMAKE_PREFIX_PATH=${WORK}/prefix)
run(ignored ${CMAKE_COMMAND} --build ${WORK}/cmake)
expect_answers(${WORK}/cmake/embed)

# A version that it is not compatible with is refused.
file(WRITE ${WORK}/later/CMakeLists.txt
     "cmake_minimum_required(VERSION 3.16)\nproject(later NONE)\nfind_package(onnx_mem 99.0 REQUIRED)\n")
execute_process(COMMAND ${CMAKE_COMMAND} -S ${WORK}/later -B ${WORK}/later/build -G ${GENERATOR}
                        -DCMAKE_PREFIX_PATH=${WORK}/prefix
                RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
if(NOT failed)
  message(FATAL_ERROR "version 99.0 was found")
endif()

# By pkg-config, with the oldest standard that the header takes and all warnings.
if(PKG_CONFIG)
  set(ENV{PKG_CONFIG_PATH} ${WORK}/prefix/${LIBDIR}/pkgconfig)
  run(version ${PKG_CONFIG} --modversion onnx_mem)
  if(NOT version STREQUAL "${VERSION}\n")
    message(FATAL_ERROR "pkg-config told version ${version}")
  endif()
  run(flags ${PKG_CONFIG} --cflags --libs onnx_mem)
  if(flags MATCHES "-W|absl|onnx_proto|protobuf")
    message(FATAL_ERROR "flags that are none of a user's business: ${flags}")
  endif()
  separate_arguments(flags UNIX_COMMAND "${flags}")
  run(ignored ${CXX_COMPILER} -std=c++17 -Wall -Wextra -Wpedantic -Wshadow -Werror ${SOURCE}/examples/embed/main.cpp
      ${flags} -Wl,-rpath,${WORK}/prefix/${LIBDIR} -o ${WORK}/embed_by_pkg_config)
  expect_answers(${WORK}/embed_by_pkg_config)
endif()
file(REMOVE_RECURSE ${WORK})
