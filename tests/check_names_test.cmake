# Does check_names.cmake see what it is there for? Writes two files at a time.
#
#   cmake -DWORK=DIR -P tests/check_names_test.cmake
cmake_minimum_required(VERSION 3.25)

# `first` stands in analyzer/a.h and `second` in `file`, both in the namespace onnx_mem.
function(expect first file second message)
  file(REMOVE_RECURSE ${WORK})
  file(WRITE ${WORK}/analyzer/a.h "namespace onnx_mem {\n${first}\n}  // namespace onnx_mem\n")
  file(WRITE ${WORK}/${file} "namespace onnx_mem {\n${second}\n}  // namespace onnx_mem\n")
  execute_process(COMMAND ${CMAKE_COMMAND} -DROOT=${WORK} -P ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/check_names.cmake
                  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(message STREQUAL "")
    if(NOT result EQUAL 0)
      message(SEND_ERROR "'${first}' and '${second}' in ${file} were refused:\n${output}")
    endif()
  elseif(result EQUAL 0 OR NOT output MATCHES "${message}")
    message(SEND_ERROR "'${first}' and '${second}' in ${file} were not refused with '${message}':\n${output}")
  endif()
endfunction()

expect("struct Scope {" planner/b.h "class Site {" "")
expect("struct Scope {" planner/b.h "class Scope {" "Scope is also the name of a class in")
expect("struct Scope {" planner/b.cc "class Scope : public Base {" "Scope is also the name of a class in")
expect("enum class Scope : uint8_t {" planner/b.h "struct Scope final {" "Scope is also the name of a class in")
expect("struct Scope {" planner/b.h "struct Scope\;" "")
expect("struct Scope {" planner/b.h "struct Other {\n  struct Scope {" "")
expect("struct Scope {" planner/b.cc "struct Scope::Inner {" "")
expect("struct Scope {" planner/b.cc "namespace {\nstruct Scope {\n}  // namespace" "")
expect("struct Scope {" planner/b.h "namespace {\nstruct Site {\n}  // namespace" "an unnamed namespace in a header")
expect("struct Scope {" planner/b.h "}  // namespace onnx_mem\nnamespace onnx_mem::plan {\nstruct Scope {" "")
expect("struct Scope {" tests/b_test.cc "struct Scope {" "Scope is also the name of a class in")
