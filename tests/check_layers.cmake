# Fails on an #include that points up or sideways, and on what else the tree promises but a compiler does not see.
#
#   cmake -DROOT=DIR -P tests/check_layers.cmake
#
# A layer is a folder with everything below it that is no layer of its own. Each may include itself and what is listed
# here; main's own rule, that libraries link downwards only, says the same to the linker. A folder that holds folders
# does not include them, nor they it: shared ground is a folder of its own.
cmake_minimum_required(VERSION 3.25)

set(layers analyzer/order analyzer/ops analyzer/graph analyzer/exported analyzer/run analyzer/compare analyzer/record analyzer/onnx analyzer/lower/draft analyzer/lower/facts
    analyzer/lower/operators analyzer/lower/fuse analyzer/lower/exporters analyzer/lower/adapters analyzer/assume/choices analyzer/assume/names
    analyzer/assume/regions analyzer/assume/table analyzer/prepare analyzer/memory analyzer/snapshot analyzer/eager analyzer/allocators analyzer/devices analyzer/analysis analyzer/parallel analyzer/runtimes
    analyzer/study analyzer/check
    solver/problem solver/bound solver/exact solver/edit
    solver/methods planner/measure planner/code planner/calls planner/search planner/answer planner/advice
    report cli include library)
set(below_analyzer/order)
set(below_analyzer/ops)
set(below_analyzer/graph analyzer/ops)
set(below_analyzer/exported analyzer/graph)
set(below_analyzer/run analyzer/graph)
set(below_analyzer/compare analyzer/graph analyzer/exported)
set(below_analyzer/record analyzer/ops analyzer/graph analyzer/run)
set(below_analyzer/onnx analyzer/ops analyzer/graph analyzer/exported analyzer/run analyzer/record)
set(below_analyzer/memory analyzer/graph)
set(below_analyzer/snapshot analyzer/graph analyzer/memory)
set(below_analyzer/lower/draft analyzer/ops analyzer/graph analyzer/exported analyzer/run)
set(below_analyzer/lower/facts analyzer/ops analyzer/graph analyzer/exported analyzer/run analyzer/lower/draft)
set(below_analyzer/lower/operators ${below_analyzer/lower/facts} analyzer/lower/facts)
set(below_analyzer/lower/fuse ${below_analyzer/lower/operators} analyzer/lower/operators)
set(below_analyzer/lower/adapters analyzer/ops analyzer/graph analyzer/run)
set(below_analyzer/lower/exporters ${below_analyzer/lower/operators} analyzer/lower/operators)
set(below_analyzer/assume/choices ${below_analyzer/lower/operators} analyzer/lower/operators)
set(below_analyzer/assume/names analyzer/ops analyzer/graph analyzer/exported)
set(below_analyzer/assume/regions analyzer/ops analyzer/graph analyzer/exported)
set(below_analyzer/assume/table ${below_analyzer/assume/choices} analyzer/assume/choices analyzer/assume/names
    analyzer/assume/regions)
set(below_analyzer/prepare ${below_analyzer/lower/operators} analyzer/lower/operators analyzer/assume/choices
    analyzer/assume/names analyzer/assume/regions)
set(below_analyzer/eager analyzer/ops analyzer/graph analyzer/run analyzer/memory)
set(below_analyzer/allocators analyzer/graph analyzer/memory)
set(below_analyzer/devices analyzer/graph analyzer/memory)
set(below_analyzer/analysis analyzer/ops analyzer/graph analyzer/exported analyzer/run analyzer/record analyzer/memory analyzer/eager analyzer/onnx analyzer/prepare
    analyzer/allocators analyzer/devices analyzer/lower/draft analyzer/lower/facts analyzer/lower/operators analyzer/lower/adapters
    analyzer/assume/names analyzer/assume/table include)
set(below_analyzer/parallel ${below_analyzer/analysis} analyzer/analysis)
set(below_analyzer/runtimes ${below_analyzer/parallel} analyzer/parallel)
set(below_analyzer/study ${below_analyzer/runtimes} analyzer/runtimes)
set(below_analyzer/check analyzer/graph analyzer/exported analyzer/compare analyzer/run analyzer/memory analyzer/lower/facts analyzer/lower/operators
    analyzer/assume/table analyzer/prepare analyzer/onnx analyzer/analysis analyzer/study)
set(below_solver/problem analyzer/graph)
set(below_solver/bound analyzer/graph solver/problem)
set(below_solver/exact analyzer/graph solver/problem solver/bound)
set(below_solver/edit analyzer/graph solver/problem)
set(below_solver/methods analyzer/graph solver/problem solver/bound
    solver/exact solver/edit)
set(below_planner/measure analyzer/ops analyzer/graph analyzer/run analyzer/memory analyzer/onnx analyzer/prepare
    analyzer/allocators analyzer/devices analyzer/analysis analyzer/parallel analyzer/runtimes analyzer/study solver/problem solver/methods include)
set(below_planner/code ${below_planner/measure} planner/measure)
set(below_planner/calls ${below_planner/code} solver/bound planner/code)
set(below_planner/search ${below_planner/calls} planner/calls)
set(below_planner/answer ${below_planner/search} planner/search)
set(below_planner/advice ${below_planner/answer} planner/answer)
set(below_report ${below_planner/advice} analyzer/compare analyzer/snapshot planner/advice)
set(below_cli ${below_report} report analyzer/check analyzer/eager include)
# The public header and its table of options stand on nothing, so that they can be installed alone; the library asks as
# the commands do.
set(below_include)
set(below_library include cli report analyzer/graph analyzer/run analyzer/onnx)
# Whatever stands on graphs may sort.
foreach(layer IN LISTS layers)
  if("analyzer/graph" IN_LIST below_${layer} OR layer STREQUAL "analyzer/graph")
    list(APPEND below_${layer} analyzer/order)
  endif()
endforeach()

# Headers of other projects, and of the commands, that stay behind one door: a pattern of the header, who may include it.
set(doors onnx cli11 json commands)
set(door_onnx_header "^(onnx|google/protobuf)/")
set(door_onnx_places "^(analyzer/onnx/|tests/analyzer/onnx/|tests/graph_text\\.cc$|bench/|fuzz/)")
set(door_cli11_header "^CLI/")
set(door_cli11_places "^cli/options/options\\.cc$")
set(door_json_header "^nlohmann/")
set(door_json_places "\\.cc$|^tests/")
set(door_commands_header "^cli/commands/")
set(door_commands_places "^(cli/[^/]+$|cli/(commands|options)/|tests/)")

# Operators are known by name only where a model is read, rewritten or re-enacted. Names that are also ordinary words
# of a report ("Shape", "Size", "Max") are left out.
set(operators "(Conv|ConvTranspose|Gemm|MatMul|Relu|LeakyRelu|PRelu|Sigmoid|Tanh|Gelu|Erf|Softmax|LogSoftmax|Dropout|\
BatchNormalization|LayerNormalization|InstanceNormalization|GroupNormalization|RMSNormalization|MaxPool|AveragePool|\
GlobalAveragePool|Reshape|Transpose|Squeeze|Unsqueeze|Flatten|Concat|Split|Slice|Gather|GatherElements|Expand|Resize|\
ReduceMean|ReduceSum|LSTM|GRU|Attention|Einsum|Clip|Cast|Pad|Mul|Div|Sqrt|Pow)")
set(operator_places "^(analyzer/(ops|onnx|record|lower|assume|eager|runtimes)/|tests/|bench/|fuzz/)")

set(drawer "(^|/)(utils?|helpers?|misc|common|types)(_test)?(/|\\.(h|cc)$)")

include(${CMAKE_CURRENT_LIST_DIR}/faults.cmake)

# The layer of a path such as "analyzer/graph/ids.h", or "" outside all of them.
function(layer_of path result)
  set(${result} "" PARENT_SCOPE)
  foreach(layer IN LISTS layers)
    if(path MATCHES "^${layer}/")
      set(${result} ${layer} PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

foreach(folder analyzer solver planner report cli include library tests bench fuzz)
  file(GLOB_RECURSE found RELATIVE ${ROOT} ${ROOT}/${folder}/*.h ${ROOT}/${folder}/*.cc)
  list(APPEND files ${found})
endforeach()

# A room shows what is in it at a glance, and stands beside those that it uses, not around them.
set(most_files 30)
foreach(file IN LISTS files)
  cmake_path(GET file PARENT_PATH room)
  list(APPEND rooms ${room})
endforeach()
set(each_room ${rooms})
list(REMOVE_DUPLICATES each_room)
foreach(room IN LISTS each_room)
  if(NOT room MATCHES "^(analyzer|solver|planner|report|cli|library)")
    continue()
  endif()
  set(in_room ${rooms})
  list(FILTER in_room INCLUDE REGEX "^${room}$")
  list(LENGTH in_room count)
  if(count GREATER most_files)
    fault("${room}: ${count} files; more than ${most_files} in one folder show nothing")
  endif()
  set(below ${each_room})
  list(FILTER below INCLUDE REGEX "^${room}/")
  if(below AND NOT room STREQUAL cli)
    fault("${room}: holds files and folders; give its files a folder of their own")
  endif()
endforeach()

foreach(file IN LISTS files)
  layer_of(${file} layer)
  if(file MATCHES "^analyzer/" AND layer STREQUAL "")
    fault("${file}: belongs to no layer; add its folder to tests/check_layers.cmake")
  endif()
  if(file MATCHES "${drawer}")
    fault("${file}: a drawer where anything goes; name it after what it holds")
  endif()

  file(STRINGS ${ROOT}/${file} includes REGEX "^[ \t]*#[ \t]*include")
  foreach(line IN LISTS includes)
    if(NOT line MATCHES "[<\"]([^>\"]+)[>\"]")
      continue()
    endif()
    set(header ${CMAKE_MATCH_1})
    layer_of(${header} target)
    if(layer AND target AND NOT target STREQUAL layer AND NOT target IN_LIST below_${layer})
      fault("${file}: includes ${header}, but ${layer} does not stand on ${target}")
    endif()
    if(layer AND header MATCHES "^(tests|bench|fuzz)/")
      fault("${file}: includes ${header}, but the program does not stand on its tests")
    endif()
    foreach(door IN LISTS doors)
      if(header MATCHES "${door_${door}_header}" AND NOT file MATCHES "${door_${door}_places}")
        fault("${file}: includes ${header}, which only files matching ${door_${door}_places} may")
      endif()
    endforeach()
  endforeach()

  if(NOT file MATCHES "${operator_places}")
    file(STRINGS ${ROOT}/${file} literals REGEX "\"${operators}\"")
    foreach(line IN LISTS literals)
      string(REGEX REPLACE "//.*" "" code "${line}")
      if(code MATCHES "\"${operators}\"")
        fault("${file}: names the operator ${CMAKE_MATCH_0}; operators are known to ops, onnx, lower, eager and runtimes only")
      endif()
    endforeach()
  endif()
endforeach()

list(LENGTH files count)
if(count EQUAL 0)
  message(FATAL_ERROR "no source files under ${ROOT}")
endif()
if(faults)
  message(FATAL_ERROR "${faults} faults in ${count} files")
endif()
message(STATUS "${count} files keep to their layers")
