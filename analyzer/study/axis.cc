#include "analyzer/study/axis.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/suggest.h"
#include "analyzer/onnx/build/recorded.h"

namespace onnx_mem {

absl::Status CheckAxis(const Axis& axis, std::string_view option, const ImportedModel& model) {
  const std::map<std::string, int64_t>& dims = model.info.bound_dims;
  if (axis.length.empty() || dims.contains(axis.length)) return absl::OkStatus();
  std::vector<std::string> names = {std::string(kBatchAxis)};
  for (const auto& [name, size] : dims) {
    if (name != kBatchAxis) names.push_back(name);
  }
  const std::string near = DidYouMean(axis.length, names);
  const std::string known = absl::StrCat("what can vary: ", absl::StrJoin(names, ", "));
  std::vector<std::string> details = {near.empty() ? known : absl::StrCat(known, ".  ", near)};
  // A record's sizes are those that it was made with, but for the batch and the one that it leaves free.
  if (model.info.from_record && FreeSizeOf(model.graph) == nullptr) details.push_back(FreeSizeRecipe(axis.length));
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kUnknownDim,
                     absl::StrCat(std::string(option), " ", axis.length, ": no such dimension"), details);
}

SizeGrid GridAlong(const Axis& axis, const ImportedModel& model) {
  const record::FreeSize* const free = FreeSizeOf(model.graph);
  if (free == nullptr || free->name != axis.length) return {};
  const int64_t rest = free->length % free->step;
  return {.first = rest > 0 ? rest : free->step, .step = free->step};
}

int64_t SizeAlong(const Axis& axis, const Bindings& bindings, const ImportedModel& model) {
  if (axis.length.empty()) return std::max<int64_t>(bindings.batch.value_or(model.info.file_batch), 1);
  const auto bound = model.info.bound_dims.find(axis.length);
  return bound == model.info.bound_dims.end() ? 1 : std::max<int64_t>(bound->second, 1);
}

Bindings WithSize(const Axis& axis, Bindings bindings, const ImportedModel& model, int64_t before, int64_t size) {
  if (!axis.length.empty()) {
    bindings.dims[axis.length] = size;
    return bindings;
  }
  bindings.batch = size;
  for (TensorId id : model.graph.inputs) {
    const auto given = bindings.inputs.find(model.graph.tensors[id].name);  // weights may be given, too
    if (given == bindings.inputs.end() || given->second.empty()) continue;
    if (given->second.front() == before) given->second.front() = size;
  }
  return bindings;
}

}  // namespace onnx_mem
