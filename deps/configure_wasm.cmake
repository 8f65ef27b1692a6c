# cmake -DPREFIX=DIR -DBUILD=DIR -P deps/configure_wasm.cmake: configures onnx-mem for WebAssembly in BUILD, with the
# libraries that deps/build.cmake made in PREFIX. Unlike these, which are called seldom and as small as they get, it is
# compiled to be fast.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/packages.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/wasm.cmake)
cmake_path(ABSOLUTE_PATH PREFIX NORMALIZE)
execute_process(COMMAND ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/.. -B ${BUILD} -G Ninja ${WASM_OPTIONS}
                        "-DCMAKE_CXX_FLAGS_MINSIZEREL=-O2 -DNDEBUG"
                        -DCMAKE_FIND_ROOT_PATH=${PREFIX} -DCMAKE_FIND_PACKAGE_PREFER_CONFIG=ON
                        -DONNX_MEM_BUILD_TESTS=OFF -DONNX_MEM_CCACHE=ONNX_MEM_CCACHE-NOTFOUND
                COMMAND_ERROR_IS_FATAL ANY)
