# Gives the target onnx_mem_onnx: the ONNX C++ library (protobuf classes, operator schemas, shape inference).
#
# Looks for an installed ONNX >= 1.18 (older ones lack hasOutput of InferenceContext and know too few opsets), in the
# usual places and in .deps/onnx-<version>. Where there is none, builds the pinned source package once into .deps,
# which all build folders share (deps/build.cmake). -DONNX_SDIST=FILE gives the package where nothing can be
# downloaded.
include(${PROJECT_SOURCE_DIR}/deps/packages.cmake)

set(ONNX_SDIST "" CACHE FILEPATH "Source package of ONNX ${ONNX_PACKAGE_VERSION}, instead of downloading it")
set(onnx_prefix ${PROJECT_SOURCE_DIR}/.deps/onnx-${ONNX_PACKAGE_VERSION})

find_package(Protobuf REQUIRED)
# GLOBAL: the tests link it too. The prefix comes first, so that what was built for this project wins.
find_package(ONNX ${ONNX_MINIMUM_VERSION} CONFIG QUIET GLOBAL HINTS ${onnx_prefix})
if(NOT ONNX_FOUND)
  message(NOTICE "onnx: none >= ${ONNX_MINIMUM_VERSION} installed; building ${ONNX_PACKAGE_VERSION} once (2 to 5 minutes)")
  execute_process(
    COMMAND ${CMAKE_COMMAND} -DPREFIX=${onnx_prefix} -DPACKAGES=ONNX -DSDIST=${ONNX_SDIST} -DGENERATOR=${CMAKE_GENERATOR}
            -DCXX_COMPILER=${CMAKE_CXX_COMPILER} -DCXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER}
            -P ${PROJECT_SOURCE_DIR}/deps/build.cmake
    COMMAND_ERROR_IS_FATAL ANY)
  find_package(ONNX ${ONNX_MINIMUM_VERSION} REQUIRED CONFIG GLOBAL PATHS ${onnx_prefix} NO_DEFAULT_PATH)
endif()
message(STATUS "ONNX ${ONNX_VERSION}: ${ONNX_DIR}")

add_library(onnx_mem_onnx INTERFACE)
target_link_libraries(onnx_mem_onnx INTERFACE ONNX::onnx)
