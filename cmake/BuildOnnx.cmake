# Builds the pinned ONNX as a static library and installs it into PREFIX, which appears whole or not at all.
#
#   cmake -DPREFIX=DIR [-DSDIST=FILE] [-DGENERATOR=...] [-DCXX_COMPILER=...] [-DCXX_COMPILER_LAUNCHER=...]
#         -P cmake/BuildOnnx.cmake
#
# Without SDIST the source package comes from the Python package index, by pip; either way its hash is checked.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/OnnxPackage.cmake)

if(NOT PREFIX)
  message(FATAL_ERROR "PREFIX is not set")
endif()
cmake_path(ABSOLUTE_PATH PREFIX NORMALIZE)
set(work ${PREFIX}.build)
file(MAKE_DIRECTORY ${work})
file(LOCK ${work}.lock TIMEOUT 1800)
if(EXISTS ${PREFIX})  # another configure run was building it
  return()
endif()

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_FILE ${work}/log.txt ERROR_FILE ${work}/log.txt)
  if(result)
    file(READ ${work}/log.txt log)
    string(LENGTH "${log}" length)
    if(length GREATER 4000)
      math(EXPR begin "${length} - 4000")
      string(SUBSTRING "${log}" ${begin} -1 log)
    endif()
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${log}\nfailed (${result}): ${command}\nwhole log: ${work}/log.txt")
  endif()
endfunction()

# A python3 of one's own may stand before the system's on PATH and have no pip.
function(find_python_with_pip result)
  foreach(candidate python3 /usr/bin/python3 python)
    execute_process(COMMAND ${candidate} -m pip --version RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
    if(NOT failed)
      set(${result} ${candidate} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "onnx: downloading the source package needs Python 3 with pip; or give -DONNX_SDIST=FILE, the "
                      "source package of ONNX ${ONNX_PACKAGE_VERSION}")
endfunction()

if(NOT SDIST)
  set(SDIST ${work}/onnx-${ONNX_PACKAGE_VERSION}.tar.gz)
  if(NOT EXISTS ${SDIST})
    message(NOTICE "onnx: downloading the source package")
    find_python_with_pip(python)
    # pip runs a part of the package to learn its name and version: not before it has checked the hash.
    file(WRITE ${work}/requirements.txt "onnx==${ONNX_PACKAGE_VERSION} --hash=sha256:${ONNX_PACKAGE_SHA256}\n")
    run(${python} -m pip download --quiet --no-deps --no-binary onnx --require-hashes --dest ${work}
        --requirement ${work}/requirements.txt)
  endif()
endif()
file(SHA256 ${SDIST} sha256)
if(NOT sha256 STREQUAL ONNX_PACKAGE_SHA256)
  file(REMOVE ${work}/onnx-${ONNX_PACKAGE_VERSION}.tar.gz)  # a broken download is not to be found again
  message(FATAL_ERROR "${SDIST} is not ONNX ${ONNX_PACKAGE_VERSION}: its SHA-256 is ${sha256}, "
                      "not ${ONNX_PACKAGE_SHA256}")
endif()

file(ARCHIVE_EXTRACT INPUT ${SDIST} DESTINATION ${work})
set(source ${work}/onnx-${ONNX_PACKAGE_VERSION})
# Asks for CMake 3.26 but builds unchanged with 3.25, which Debian 12 has.
file(READ ${source}/CMakeLists.txt lists)
string(REPLACE "cmake_minimum_required(VERSION 3.26" "cmake_minimum_required(VERSION 3.25" lists "${lists}")
# Compiled some files together and at -O1, in a third of the time: what is called often is the generated code, which
# reads models; each generated file has the same names of its own, so these are compiled alone.
string(APPEND lists "
set_target_properties(onnx PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
target_compile_options(onnx PRIVATE $<$<CXX_COMPILER_ID:GNU,Clang>:-O1>)
")
file(WRITE ${source}/CMakeLists.txt "${lists}")

message(NOTICE "onnx: building into ${PREFIX}")
set(options -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_STANDARD=20 -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DONNX_ML=ON
    -DONNX_BUILD_PYTHON=OFF -DONNX_USE_PROTOBUF_SHARED_LIBS=ON -DCMAKE_INSTALL_PREFIX=${work}/install
    -DCMAKE_INSTALL_LIBDIR=lib)
if(GENERATOR)
  list(APPEND options -G ${GENERATOR})
endif()
if(CXX_COMPILER)
  list(APPEND options -DCMAKE_CXX_COMPILER=${CXX_COMPILER})
endif()
if(CXX_COMPILER_LAUNCHER)
  list(APPEND options -DCMAKE_CXX_COMPILER_LAUNCHER=${CXX_COMPILER_LAUNCHER})
endif()
cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
run(${CMAKE_COMMAND} -S ${source} -B ${work}/build ${options})
run(${CMAKE_COMMAND} --build ${work}/build --target install --parallel ${cores})
file(RENAME ${work}/install ${PREFIX})
file(REMOVE_RECURSE ${work})
