// A size of a question that sweeps and searches vary: the batch, or a length that has a name.
#ifndef ONNX_MEM_ANALYZER_STUDY_AXIS_H_
#define ONNX_MEM_ANALYZER_STUDY_AXIS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "analyzer/graph/dag.h"
#include "analyzer/onnx/build/import.h"

namespace onnx_mem {

struct Axis {
  std::string length = {};  // as --dim names it; "": the batch, dim 0 of every input
};
inline constexpr std::string_view kBatchAxis = "batch";  // what questions and answers call that one

inline Axis AxisNamed(std::string_view name) { return {name == kBatchAxis ? std::string() : std::string(name)}; }

// Errors: unknown-dim where the model has no such dimension that can vary. `option` named it.
absl::Status CheckAxis(const Axis& axis, std::string_view option, const ImportedModel& model);

// The sizes along it at which the model runs: every one, or those of a record that holds in steps.
struct SizeGrid {
  int64_t first = 1;
  int64_t step = 1;
  int64_t At(int64_t number) const { return first + (number - 1) * step; }  // from 1 on
  int64_t NumberOf(int64_t size) const { return (size - first) / step + 1; }
};
SizeGrid GridAlong(const Axis& axis, const ImportedModel& model);

// Where `bindings` stand along it. `model` is what was imported with them.
int64_t SizeAlong(const Axis& axis, const Bindings& bindings, const ImportedModel& model);

// `bindings` of `model` with `size` in place of `before`, which they had: inputs that were given whole carry the batch
// in dim 0.
Bindings WithSize(const Axis& axis, Bindings bindings, const ImportedModel& model, int64_t before, int64_t size);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_STUDY_AXIS_H_
