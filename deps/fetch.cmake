# fetch_package(NAME FOLDER): the source package of packages.cmake as FOLDER/<its file>, its hash checked. What lies
# there with the right hash is not fetched again, so that a machine without a network can be given the files.
include(${CMAKE_CURRENT_LIST_DIR}/packages.cmake)

function(run_logged log)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_FILE ${log} ERROR_FILE ${log})
  if(result)
    file(READ ${log} text)
    string(LENGTH "${text}" length)
    if(length GREATER 4000)
      math(EXPR begin "${length} - 4000")
      string(SUBSTRING "${text}" ${begin} -1 text)
    endif()
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${text}\nfailed (${result}): ${command}\nwhole log: ${log}")
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

function(fetch_from_pypi name folder)
  string(TOLOWER ${name} package)
  find_python_with_pip(python)
  # pip runs a part of the package to learn its name and version: not before it has checked the hash.
  file(WRITE ${folder}/${package}.requirements.txt
       "${package}==${${name}_PACKAGE_VERSION} --hash=sha256:${${name}_PACKAGE_SHA256}\n")
  run_logged(${folder}/${package}.log ${python} -m pip download --quiet --no-deps --no-binary ${package} --require-hashes
             --dest ${folder} --requirement ${folder}/${package}.requirements.txt)
endfunction()

# apt with lists of its own: the machine's lines, read as lines of source packages. Nothing of the machine is changed.
function(fetch_from_debian name folder)
  set(apt ${folder}/apt)
  file(MAKE_DIRECTORY ${apt}/parts ${apt}/lists ${apt}/cache)
  file(GLOB sources /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list.d/*.list)
  foreach(source IN LISTS sources)
    file(READ ${source} text)
    string(REGEX REPLACE "(^|\n)Types:[^\n]*" "\\1Types: deb-src" text "${text}")
    string(REGEX REPLACE "(^|\n)deb " "\\1deb-src " text "${text}")
    cmake_path(GET source FILENAME file)
    if(text MATCHES "debian")
      file(WRITE ${apt}/parts/${file} "${text}")
    endif()
  endforeach()
  set(own -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts=${apt}/parts -o Dir::State::lists=${apt}/lists
      -o Dir::Cache=${apt}/cache -o APT::Sandbox::User=root -qq)
  run_logged(${folder}/apt.log apt-get ${own} update)
  # The version of the release itself: mirrors may list sources of security updates that they do not have. Which file it
  # must be, its hash says.
  set(release "")
  if(EXISTS /etc/os-release)
    file(STRINGS /etc/os-release release REGEX "^VERSION_CODENAME=")
    string(REGEX REPLACE "^VERSION_CODENAME=" "/" release "${release}")
  endif()
  set(download ${CMAKE_COMMAND} -E chdir ${folder} apt-get ${own} source --download-only)
  execute_process(COMMAND ${download} ${name}${release} RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
  if(failed)
    run_logged(${folder}/apt.log ${download} ${name})
  endif()
endfunction()

function(check_package name file)
  file(SHA256 ${file} sha256)
  if(NOT sha256 STREQUAL "${${name}_PACKAGE_SHA256}")
    message(FATAL_ERROR "${file} is not ${name} ${${name}_PACKAGE_VERSION}: its SHA-256 is ${sha256}, not "
                        "${${name}_PACKAGE_SHA256}")
  endif()
endfunction()

function(fetch_package name folder)
  set(file ${folder}/${${name}_PACKAGE_FILE})
  file(MAKE_DIRECTORY ${folder})
  if(EXISTS ${file})
    file(SHA256 ${file} sha256)
    if(sha256 STREQUAL "${${name}_PACKAGE_SHA256}")
      return()
    endif()
    file(REMOVE ${file})  # a broken download
  endif()
  message(NOTICE "${name}: downloading the source package")
  cmake_language(CALL fetch_from_${${name}_PACKAGE_FROM} ${name} ${folder})
  check_package(${name} ${file})
endfunction()
