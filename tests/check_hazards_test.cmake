# Does check_hazards.cmake see what it is there for? Writes a file at a time.
#
#   cmake -DWORK=DIR -P tests/check_hazards_test.cmake
cmake_minimum_required(VERSION 3.25)

function(expect file line message)
  file(REMOVE_RECURSE ${WORK})
  file(WRITE ${WORK}/analyzer/other.h "// nothing\n")
  file(WRITE ${WORK}/${file} "${line}\n")
  execute_process(COMMAND ${CMAKE_COMMAND} -DROOT=${WORK} -P ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/check_hazards.cmake
                  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(message STREQUAL "")
    if(NOT result EQUAL 0)
      message(SEND_ERROR "'${line}' in ${file} was refused:\n${output}")
    endif()
  elseif(result EQUAL 0 OR NOT output MATCHES "${message}")
    message(SEND_ERROR "'${line}' in ${file} was not refused with '${message}':\n${output}")
  endif()
endfunction()

expect(cli/a.cc "std::regex pattern(name)\;" "std::regex")
expect(analyzer/lower/a.cc "#include <regex>" "std::regex")
expect(cli/a.cc "// no std::regex here" "")
expect(analyzer/eager/a.cc "rows = count / dims[0]\;" "divides by what may be 0")
expect(analyzer/eager/a.cc "rest = count % size\;" "divides by what may be 0")
expect(analyzer/eager/a.cc "count /= size\;" "divides by what may be 0")
expect(analyzer/eager/a.cc "rows = count / 8 / dims[0]\;" "divides by what may be 0")
expect(analyzer/eager/a.cc "rows = Quotient(count, dims[0]) / 8 + x % kBlock\;  // count / dims[0]" "")
expect(analyzer/eager/a.cc "root = 1.0 / p\;" "")
expect(planner/a.cc "rows = count / dims[0]\;" "")
expect(cmake/A.cmake "run(python -m pip download onnx)" "without --require-hashes")
expect(cmake/A.cmake "run(python -m pip download --require-hashes -r list.txt)" "")
