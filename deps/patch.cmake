# cmake -DPACKAGE=NAME -DSOURCE=DIR [-DWASM=ON] -P deps/patch.cmake: what of a package is built otherwise here.
cmake_minimum_required(VERSION 3.25)

function(replace_in file from to)
  file(READ ${SOURCE}/${file} text)
  string(FIND "${text}" "${from}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "${SOURCE}/${file} has no '${from}'")
  endif()
  string(REPLACE "${from}" "${to}" text "${text}")
  file(WRITE ${SOURCE}/${file} "${text}")
endfunction()

if(PACKAGE STREQUAL ONNX)
  # Asks for CMake 3.26 but builds unchanged with 3.25, which Debian 12 has.
  replace_in(CMakeLists.txt "cmake_minimum_required(VERSION 3.26" "cmake_minimum_required(VERSION 3.25")
  # Compiled many files together, in a third of the time; each generated file has the same names of its own, so these
  # are compiled alone. At -O1: what is called often is the generated code, which reads models.
  set(optimization -O1)
  set(together 30)
  if(WASM)
    set(optimization -Oz)
    set(together 8)
    # Writes models as text, with functions of C++17 that this compiler's library lacks; nothing here calls it.
    replace_in(onnx/defs/CMakeLists.txt "    printer.cc\n" "")
    # Some operators name their words although words are left out (__ONNX_NO_DOC_STRINGS).
    replace_in(onnx/defs/doc_strings.cc "#ifndef __ONNX_NO_DOC_STRINGS" "#if 1")
  else()
    # The converter between versions of operators is a sixth of all that there is to compile. Only the inliner of functions
    # calls it, and of that only the names are used, which schemas give to what is in their bodies.
    replace_in(onnx/inliner/inliner.cc "#include \"onnx/version_converter/convert.h\"" "#include \"onnx/onnx_pb.h\"
namespace ONNX_NAMESPACE::version_conversion {
ModelProto ConvertVersion(const ModelProto&, int);
}")
    file(WRITE ${SOURCE}/onnx/version_converter/convert.cc "#include <stdexcept>
#include \"onnx/onnx_pb.h\"
namespace ONNX_NAMESPACE::version_conversion {
ModelProto ConvertVersion(const ModelProto&, int) { throw std::logic_error(\"this ONNX converts no versions\"); }
}  // namespace ONNX_NAMESPACE::version_conversion
")
  endif()
  file(APPEND ${SOURCE}/CMakeLists.txt "
set_target_properties(onnx PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${together})
target_compile_options(onnx PRIVATE $<$<CXX_COMPILER_ID:GNU,Clang>:${optimization}>)
")
elseif(PACKAGE STREQUAL zlib)
  # What reads; zlib's own lists want files for Windows that Debian's package leaves out.
  file(WRITE ${SOURCE}/CMakeLists.txt "
cmake_minimum_required(VERSION 3.25)
project(zlib C)
add_library(z STATIC adler32.c crc32.c inflate.c inftrees.c inffast.c uncompr.c zutil.c)
install(TARGETS z DESTINATION lib)
install(FILES zlib.h zconf.h DESTINATION include)
")
elseif(PACKAGE STREQUAL protobuf AND WASM)
  # The lite library alone: nothing here asks a message for its description, which is two thirds of the whole.
  replace_in(CMakeLists.txt [[include(${protobuf_SOURCE_DIR}/cmake/libprotobuf.cmake)]] "")
  replace_in(cmake/install.cmake "set(_protobuf_libraries libprotobuf-lite libprotobuf)"
             "set(_protobuf_libraries libprotobuf-lite)")
  replace_in(cmake/install.cmake "export(TARGETS libprotobuf-lite libprotobuf\n" "export(TARGETS libprotobuf-lite\n")
endif()
