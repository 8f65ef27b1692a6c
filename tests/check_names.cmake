# Fails on two classes of one name: a compiler sees one file at a time, and a linker keeps either one's functions.
#
#   cmake -DROOT=DIR -P tests/check_names.cmake
#
# A name stands for one class, struct, enum or union in its namespace; what is in an unnamed namespace of a .cc belongs
# to that file. Headers define nothing in an unnamed namespace, which would
# make another class for each file that includes them. Tests are programs of their own: a name of theirs may come
# again in another test, but not be one of the program's.
cmake_minimum_required(VERSION 3.25)

include(${CMAKE_CURRENT_LIST_DIR}/faults.cmake)

foreach(folder analyzer solver planner report cli include library tests bench)
  file(GLOB_RECURSE found RELATIVE ${ROOT} ${ROOT}/${folder}/*.h ${ROOT}/${folder}/*.cc)
  list(APPEND files ${found})
endforeach()

set(names 0)
foreach(file IN LISTS files)
  # What opens and closes a namespace, and definitions that start a line: those inside a class are indented.
  file(STRINGS ${ROOT}/${file} lines REGEX "^(namespace|}  // namespace|(class|struct|enum|union) )")
  set(unnamed FALSE)
  set(space "")
  foreach(line IN LISTS lines)
    if(line MATCHES "^namespace {")
      set(unnamed TRUE)
      if(file MATCHES "\\.h$")
        fault("${file}: an unnamed namespace in a header")
      endif()
    elseif(line MATCHES "^namespace ([A-Za-z_0-9:]+) {")
      set(space ${CMAKE_MATCH_1})
    elseif(line MATCHES "^}  // namespace *$")
      set(unnamed FALSE)
    elseif(NOT unnamed AND line MATCHES "^(class|struct|enum|union) (class |struct )?([A-Za-z_0-9]+)( final)?( :[^:].*)? {")
      set(name ${space}::${CMAKE_MATCH_3})
      math(EXPR names "${names} + 1")
      if(DEFINED place_of_${name})
        set(both_are_tests FALSE)
        if(file MATCHES "^(tests|bench)/.*\\.cc$" AND place_of_${name} MATCHES "^(tests|bench)/.*\\.cc$")
          set(both_are_tests TRUE)
        endif()
        if(NOT both_are_tests)
          fault("${file}: ${name} is also the name of a class in ${place_of_${name}}")
        endif()
      else()
        set(place_of_${name} ${file})
      endif()
    endif()
  endforeach()
endforeach()

if(names EQUAL 0)
  message(FATAL_ERROR "no classes under ${ROOT}")
endif()
if(faults)
  message(FATAL_ERROR "${faults} faults among ${names} classes")
endif()
message(STATUS "${names} classes have names of their own")
