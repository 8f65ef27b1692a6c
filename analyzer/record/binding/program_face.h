// What one recorded program shows of itself, by name: what graph_face.h holds against the graph.
#ifndef ONNX_MEM_ANALYZER_RECORD_BINDING_PROGRAM_FACE_H_
#define ONNX_MEM_ANALYZER_RECORD_BINDING_PROGRAM_FACE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "analyzer/record/format/record.h"

namespace onnx_mem::record {

struct ProgramFace {
  std::vector<const Value*> inputs = {};
  std::vector<const Value*> stored = {};                      // parameters and buffers
  absl::flat_hash_map<std::string, const Value*> named = {};  // those, by each of their names
  std::vector<const Value*> constants = {};
  // Names that an operator reads: of inputs as PlainName gives them. Those that a convolution reads.
  absl::flat_hash_set<std::string> read = {}, convolved = {};
  absl::flat_hash_set<const Value*> unread_constants = {};  // that no line names
  // Buffers in whose place forward puts another tensor: they are here as a call leaves them, not as they were stored.
  absl::flat_hash_set<const Value*> replaced = {};
  bool has_operators = false;
};

ProgramFace FaceOf(const Program& program);

// As exporters write the name of an input: letters and digits, "_" for all else.
std::string PlainName(std::string_view name);

}  // namespace onnx_mem::record

#endif  // ONNX_MEM_ANALYZER_RECORD_BINDING_PROGRAM_FACE_H_
