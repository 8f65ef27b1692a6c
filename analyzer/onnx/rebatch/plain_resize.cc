#include "analyzer/onnx/rebatch/plain_resize.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/onnx/infer/shapes.h"
#include "analyzer/onnx/rebatch/rule.h"
#include "analyzer/onnx/rebatch/scaling_hook.h"

namespace onnx_mem {
namespace {

using ShapeMap = absl::flat_hash_map<std::string, Shape>;

// The values of `name` before and after; traces mark the dims that changed, as if one variable had scaled them.
Operand ChangedOperand(const std::string& name, const InferredGraph& before, const InferredGraph& after) {
  Operand operand{.present = !name.empty(), .base = {}, .traces = {}, .base_contents = nullptr, .contents = nullptr};
  const auto b = before.values.find(name), a = after.values.find(name);
  if (b == before.values.end() || a == after.values.end() || !b->second.shape.known() || !a->second.shape.known())
    return operand;
  operand.base = b->second.shape;
  operand.base_contents = b->second.value;
  operand.traces.resize(operand.base.rank());
  for (size_t d = 0; d < operand.base.rank(); ++d) {
    operand.traces[d].power[0] = d >= a->second.shape.rank() || a->second.shape.dims[d] != operand.base.dims[d];
  }
  return operand;
}

// A Reshape to a constant that holds -1: right iff the -1 stands for exactly the dims that changed.
bool AbsorbsChange(const Operand& data, const Dims& to, const std::vector<int64_t>& target) {
  const auto infer = std::find(target.begin(), target.end(), -1);
  if (infer == target.end() || target.size() != to.size()) return false;
  const auto front = static_cast<size_t>(infer - target.begin());
  const size_t back = target.size() - front - 1;
  const size_t rank = data.base.rank();
  if (front + back > rank) return false;
  for (size_t d = 0; d < rank; ++d) {
    if (d >= front && d < rank - back) continue;  // merged into the -1
    const size_t at = d < front ? d : to.size() - (rank - d);
    if (data.traces[d].any() || data.base.dims[d] != to[at]) return false;
  }
  return true;
}

}  // namespace

absl::Status CheckPlainResize(const onnx::ModelProto& model, const BoundInputs& bound) {
  ShapeMap exported = bound.shapes, resized = bound.shapes;  // both at the exported batch
  for (const DimChange& change : bound.changes) {
    exported.at(change.input).dims[static_cast<size_t>(change.dim)] = change.from;
    if (change.dim == 0) resized.at(change.input).dims[0] = change.from;
  }
  ASSIGN_OR_RETURN(const InferredGraph before, InferShapes(model, {.input_shapes = &exported}));
  ASSIGN_OR_RETURN(const InferredGraph after, InferShapes(model, {.input_shapes = &resized}));
  const onnx::GraphProto& graph = model.graph();
  for (int i = 0; i < graph.node_size(); ++i) {
    const onnx::NodeProto& node = graph.node(i);
    std::vector<Operand> inputs, outputs;
    for (const std::string& name : node.input()) inputs.push_back(ChangedOperand(name, before, after));
    for (const std::string& name : node.output()) outputs.push_back(ChangedOperand(name, before, after));
    const auto changed = [](const Operand& operand) { return AnyScaled(operand.traces); };
    const auto silent = [](const Operand& operand) {
      return !operand.base.has_rank || operand.base_contents != nullptr;
    };
    if (std::none_of(inputs.begin(), inputs.end(), changed)) continue;
    if (node.op_type() == "Reshape" && inputs.size() > 1 && inputs[1].base_contents &&
        inputs[1].base_contents->ints()) {
      const auto now = after.values.find(node.input(1));
      const bool baked =
          now != after.values.end() && now->second.value && *now->second.value == *inputs[1].base_contents;
      if (baked && !AbsorbsChange(inputs[0], outputs[0].base.dims, *inputs[1].base_contents->ints())) {
        return Refusal(absl::StrCat(DescribeNode(graph, i), " has the constant shape [",
                                    absl::StrJoin(*inputs[1].base_contents->ints(), ", "), "]"));
      }
    }
    if (std::any_of(outputs.begin(), outputs.end(), changed) || std::all_of(outputs.begin(), outputs.end(), silent))
      continue;
    if (MayDropBatch({node, inputs, outputs, {}})) continue;
    return Refusal(
        absl::StrCat("the size is lost at ", DescribeNode(graph, i), ": its inputs change, its output does not"));
  }
  return absl::OkStatus();
}

}  // namespace onnx_mem
