#include "analyzer/record/lower/take_results.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/ops/ops.h"

namespace onnx_mem::record {
namespace {

void AddTensors(const Argument& argument, ValueTensors& tensors, TensorIds& ids) {
  if (argument.kind == Argument::Kind::kValue && tensors[argument.value].valid()) {
    ids.push_back(tensors[argument.value]);
  }
  for (const Argument& item : argument.items) AddTensors(item, tensors, ids);
}

}  // namespace

TensorIds TensorsOf(const Line& line, ValueTensors& tensors) {
  TensorIds ids;
  for (const Argument& argument : line.arguments) AddTensors(argument, tensors, ids);
  for (const auto& [name, argument] : line.options) AddTensors(argument, tensors, ids);
  return ids;
}

bool IsRuleFor(const FrameworkGraph& graph, const FrameworkNode& node, bool in_place) {
  const OpFacts& op = FactsOf(node.op.str());
  if (op.family == OpFamily::kView || op.family == OpFamily::kComplex) return true;
  if (in_place && MakesNew(op)) return false;
  return std::none_of(node.outputs.begin(), node.outputs.end(),
                      [&](TensorId id) { return id.valid() && IsComplex(graph.tensors[id].dtype); });
}

absl::Status TakeResults(const Line& line, ValueTensors& tensors, const FrameworkGraph& graph, FrameworkNode& node) {
  const auto written = std::find(line.made.begin(), line.made.end(), false);
  if (written != line.made.end()) {
    node.op = "overwrite";
    node.inputs = {tensors[line.values[static_cast<size_t>(written - line.made.begin())]]};
    return absl::OkStatus();
  }
  const ValueNumber root = line.values.size() == 1 ? tensors.value(line.values.front()).type.root : -1;
  const bool is_view = root >= 0 && tensors[root].valid();
  node.op = is_view ? "as_strided" : "without_gradient";
  if (is_view) node.inputs = {tensors[root]};
  for (size_t i = 0; i < line.values.size(); ++i) {
    if (!node.outputs[i].valid()) continue;
    ASSIGN_OR_RETURN(Dims strides, tensors.StridesOf(tensors.value(line.values[i]).type));
    if (strides.empty()) strides = ContiguousStrides(graph.tensors[node.outputs[i]].shape.dims);
    node.attributes[i == 0 ? "strides" : absl::StrCat("strides", i)] =
        std::vector<int64_t>(strides.begin(), strides.end());
  }
  return absl::OkStatus();
}

}  // namespace onnx_mem::record
