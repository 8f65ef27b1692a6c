# Fails on what a stranger's file could turn against the program, where a look at the source is enough to see it.
#
#   cmake -DROOT=DIR -P tests/check_hazards.cmake
#
# - std::regex: it recurses once per character of a name, and tries exponentially many ways. analyzer/graph/name_pattern.h
#   does neither.
# - a division by a size in analyzer/eager, where sizes may be 0: ElementsBetween, Quotient or Remainder of
#   engine/tensor.h, or a constant (a number, or a name such as kBlock).
# - pip without hashes: it runs what it downloads.
cmake_minimum_required(VERSION 3.25)

include(${CMAKE_CURRENT_LIST_DIR}/faults.cmake)

foreach(folder analyzer solver planner report cli include library fuzz)
  file(GLOB_RECURSE found RELATIVE ${ROOT} ${ROOT}/${folder}/*.h ${ROOT}/${folder}/*.cc)
  list(APPEND files ${found})
endforeach()
list(LENGTH files count)
if(count EQUAL 0)
  message(FATAL_ERROR "no source files under ${ROOT}")
endif()

# What lines of `file` that match `pattern` have, without comments and texts, in `result`.
function(code_lines file pattern result)
  file(STRINGS ${ROOT}/${file} lines REGEX "${pattern}")
  set(kept)
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "\"[^\"]*\"" "" code "${line}")
    string(REGEX REPLACE "//.*" "" code "${code}")
    if(code MATCHES "${pattern}")
      list(APPEND kept "${code}")
    endif()
  endforeach()
  set(${result} "${kept}" PARENT_SCOPE)
endfunction()

foreach(file IN LISTS files)
  code_lines(${file} "std::(basic_)?regex|#include <regex>" lines)
  if(lines)
    fault("${file}: std::regex; names come from strangers, analyzer/graph/name_pattern.h takes them")
  endif()
  if(NOT file MATCHES "^analyzer/eager/")
    continue()
  endif()
  code_lines(${file} " [/%]=? " lines)
  foreach(line IN LISTS lines)
    # Divisors that are numbers or constants, and dividends of floating point, which have infinity.
    string(REGEX REPLACE "[0-9]\\.[0-9]+ / " "" code "${line}")
    string(REGEX REPLACE " [/%]=? ([1-9]|k[A-Z])" "" code "${code}")
    if(code MATCHES " [/%]=? " AND NOT code MATCHES "constexpr int64_t (Quotient|Remainder)\\(")
      fault("${file}: divides by what may be 0:${line}")
    endif()
  endforeach()
endforeach()

file(GLOB_RECURSE scripts RELATIVE ${ROOT} ${ROOT}/cmake/*.cmake)
foreach(script IN LISTS scripts)
  file(STRINGS ${ROOT}/${script} lines REGEX "pip (download|install)")
  foreach(line IN LISTS lines)
    if(NOT line MATCHES "^ *#" AND NOT line MATCHES "--require-hashes")
      fault("${script}: pip without --require-hashes runs what it has not checked")
    endif()
  endforeach()
endforeach()

if(faults)
  message(FATAL_ERROR "${faults} faults in ${count} files")
endif()
message(STATUS "${count} files without what a stranger's file could use")
