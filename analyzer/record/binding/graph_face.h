// The interface of a graph: names, types and sizes of its inputs, stored tensors and outputs, and which of them its
// nodes read. A record is used in place of the graph beside it only where both have the same interface.
#ifndef ONNX_MEM_ANALYZER_RECORD_BINDING_GRAPH_FACE_H_
#define ONNX_MEM_ANALYZER_RECORD_BINDING_GRAPH_FACE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "analyzer/graph/dtype.h"
#include "analyzer/record/format/record.h"

namespace onnx_mem::record {

inline constexpr int64_t kAnySize = -1;    // of a dimension that has a name
inline constexpr int64_t kBatchSize = -2;  // of one that is named "batch", as onnx_mem.export names it

struct FaceTensor {
  std::string name = {};
  DType dtype = DType::kUnknown;                  // kUnknown: the file does not say
  std::optional<std::vector<int64_t>> dims = {};  // nullopt: the file does not say
  bool read = false;                              // by a node that reads more than its shape
  bool convolved = false;                         // as the weight of a convolution
};

struct GraphFace {
  std::vector<FaceTensor> inputs = {}, stored = {}, outputs = {};
  bool computes = false;  // it has a node that does more than hand on
};

// Names, types, sizes and number of inputs, parameters, buffers and outputs, in each program of the record; parameters
// and inputs that the graph's nodes read, some line reads too. Sizes may follow one batch, and the record's free size.
// Exporters write other characters than letters and digits of an input's name as "_". They leave out counters (buffers
// of one number), and buffers that forward replaces have another size in the graph; the target of a loss that was
// recorded with the model is no input of the graph, and its value no output. Error: InvalidArgument "record-mismatch".
absl::Status CheckFace(const Record& record, const GraphFace& face);

// Whether the face says enough to check a record by: its inputs, and its parameters where the record has some.
bool CanCheck(const Record& record, const GraphFace& face);

}  // namespace onnx_mem::record

#endif  // ONNX_MEM_ANALYZER_RECORD_BINDING_GRAPH_FACE_H_
