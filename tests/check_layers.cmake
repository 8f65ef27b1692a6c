# Fails on an #include that points up or sideways, and on what else the tree promises but a compiler does not see.
#
#   cmake -DROOT=DIR -P tests/check_layers.cmake
#
# A layer is a folder, or a file at the root of analyzer/ without its extension. Each may include itself and what is
# listed here; main's own rule, that libraries link downwards only, says the same to the linker.
cmake_minimum_required(VERSION 3.25)

set(layers analyzer/graph analyzer/compare analyzer/onnx analyzer/run analyzer/assume/names analyzer/lower analyzer/memory analyzer/eager analyzer/allocators
    analyzer/devices analyzer/module_nodes analyzer/segments analyzer/enact analyzer/training_bounds analyzer/planned_runs
    analyzer/library_workspace analyzer/analysis analyzer/check planner planner/schedule planner/bound planner/exact
    planner/edit planner/model planner/advice cli)
set(below_analyzer/graph)
set(below_analyzer/compare analyzer/graph)
set(below_analyzer/onnx analyzer/graph)
set(below_analyzer/run analyzer/graph)
set(below_analyzer/assume/names analyzer/graph)
set(below_analyzer/lower analyzer/graph analyzer/run analyzer/memory)
set(below_analyzer/memory analyzer/graph)
set(below_analyzer/eager analyzer/graph analyzer/run analyzer/memory)
set(below_analyzer/allocators analyzer/graph analyzer/memory)
set(below_analyzer/devices analyzer/graph analyzer/memory)
set(below_analyzer/module_nodes analyzer/graph)
set(below_analyzer/segments analyzer/graph analyzer/run analyzer/eager analyzer/module_nodes)
set(below_analyzer/enact analyzer/assume/names analyzer/graph analyzer/run analyzer/memory analyzer/lower analyzer/eager analyzer/segments)
set(below_analyzer/training_bounds analyzer/graph analyzer/run analyzer/memory analyzer/enact)
set(below_analyzer/planned_runs analyzer/graph analyzer/memory analyzer/lower)
set(below_analyzer/library_workspace analyzer/graph analyzer/memory analyzer/eager analyzer/devices)
set(below_analyzer/analysis analyzer/graph analyzer/run analyzer/memory analyzer/eager analyzer/onnx analyzer/allocators
    analyzer/devices analyzer/enact analyzer/training_bounds analyzer/planned_runs analyzer/library_workspace)
set(below_analyzer/check analyzer/graph analyzer/compare analyzer/run analyzer/memory analyzer/lower analyzer/onnx
    analyzer/enact analyzer/analysis)
set(below_planner/schedule analyzer/graph)
set(below_planner/bound analyzer/graph planner/schedule)
set(below_planner/exact analyzer/graph planner/schedule planner/bound)
set(below_planner/edit analyzer/graph planner/schedule)
set(below_planner analyzer/graph planner/schedule planner/bound planner/exact planner/edit)
set(below_planner/model analyzer/graph analyzer/run analyzer/memory analyzer/onnx analyzer/allocators analyzer/devices
    analyzer/module_nodes analyzer/segments analyzer/enact analyzer/library_workspace analyzer/analysis planner planner/schedule)
set(below_planner/advice ${below_planner/model} planner/model)
set(below_cli ${below_planner/advice} analyzer/check analyzer/compare analyzer/eager planner/advice)

# Headers of other projects that stay behind one door: a pattern of the header, who may include it.
set(doors onnx cli11 json)
set(door_onnx_header "^(onnx|google/protobuf)/")
set(door_onnx_places "^(analyzer/onnx/|tests/analyzer/onnx/|tests/graph_text\\.cc$|bench/|fuzz/)")
set(door_cli11_header "^CLI/")
set(door_cli11_places "^cli/options\\.cc$")
set(door_json_header "^nlohmann/")
set(door_json_places "\\.cc$")

# Operators are known by name only where a model is read, rewritten or re-enacted. Names that are also ordinary words
# of a report ("Shape", "Size", "Max") are left out.
set(operators "(Conv|ConvTranspose|Gemm|MatMul|Relu|LeakyRelu|PRelu|Sigmoid|Tanh|Gelu|Erf|Softmax|LogSoftmax|Dropout|\
BatchNormalization|LayerNormalization|InstanceNormalization|GroupNormalization|RMSNormalization|MaxPool|AveragePool|\
GlobalAveragePool|Reshape|Transpose|Squeeze|Unsqueeze|Flatten|Concat|Split|Slice|Gather|GatherElements|Expand|Resize|\
ReduceMean|ReduceSum|LSTM|GRU|Attention|Einsum|Clip|Cast|Pad|Mul|Div|Sqrt|Pow)")
set(operator_places "^(analyzer/(onnx|lower|assume|eager)/|tests/|bench/|fuzz/)")

set(drawer "(^|/)(utils?|helpers?|misc|common|types)(_test)?(/|\\.(h|cc)$)")

if(NOT ROOT)
  message(FATAL_ERROR "ROOT is not set")
endif()
set(faults 0)
function(fault text)
  message(NOTICE "${text}")
  math(EXPR count "${faults} + 1")
  set(faults ${count} PARENT_SCOPE)
endfunction()

# The layer of a path such as "analyzer/graph/ids.h", or "" outside all of them.
function(layer_of path result)
  set(${result} "" PARENT_SCOPE)
  foreach(layer IN LISTS layers)
    if(path MATCHES "^${layer}(/|\\.(h|cc)$)")
      set(${result} ${layer} PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

foreach(folder analyzer planner cli tests bench fuzz)
  file(GLOB_RECURSE found RELATIVE ${ROOT} ${ROOT}/${folder}/*.h ${ROOT}/${folder}/*.cc)
  list(APPEND files ${found})
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
        fault("${file}: names the operator ${CMAKE_MATCH_0}; operators are known to onnx, lower and eager only")
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
