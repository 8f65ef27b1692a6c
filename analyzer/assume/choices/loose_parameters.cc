#include "analyzer/assume/choices/loose_parameters.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analyzer/assume/choices/unread_buffers.h"
#include "analyzer/exported/value_names.h"
#include "analyzer/lower/facts/stored_tensors.h"
#include "analyzer/ops/ops.h"

namespace onnx_mem {
namespace {

// Layers read their weights through operators of their own; norms that are spelled out multiply by a vector, which has
// one dimension. A comparison gives no gradient: the knots of a spline.
bool IsReadLoosely(const FrameworkGraph& graph, TensorId id, int depth = 0) {
  constexpr int kMostViews = 16;  // a spline that calls itself for the degree below picks the same row each time
  const auto& readers = graph.tensors[id].consumers;
  return depth < kMostViews && !readers.empty() && std::all_of(readers.begin(), readers.end(), [&](NodeId reader) {
           const FrameworkNode& node = graph.nodes[reader];
           if (IsTensorArithmetic(node.op) || node.op == "compare" || node.op == "cat") return true;
           if (!IsView(node.op)) return false;
           return std::all_of(node.outputs.begin(), node.outputs.end(), [&](TensorId output) {
             return !output.valid() || IsReadLoosely(graph, output, depth + 1);
           });
         });
}

bool IsTable(const Tensor& tensor) {
  return std::count_if(tensor.shape.dims.begin(), tensor.shape.dims.end(), [](int64_t dim) { return dim > 1; }) >= 2;
}

// [n], of which numbers alone are taken: c[0] * x.
bool IsListOfNumbers(const FrameworkGraph& graph, TensorId id) {
  const Tensor& tensor = graph.tensors[id];
  return tensor.shape.rank() == 1 && !tensor.consumers.empty() &&
         std::all_of(tensor.consumers.begin(), tensor.consumers.end(), [&](NodeId reader) {
           const FrameworkNode& node = graph.nodes[reader];
           return IsView(node.op) && std::all_of(node.outputs.begin(), node.outputs.end(), [&](TensorId output) {
                    return !output.valid() || NumElements(graph.tensors[output].shape) == 1;
                  });
         });
}

bool IsTableOfPositions(const Lowered& lowered, const Tensor& table) {
  return !table.consumers.empty() && std::all_of(table.consumers.begin(), table.consumers.end(), [&](NodeId reader) {
    return PicksPositions(lowered, lowered.graph.nodes[reader]);
  });
}

bool LooksUp(const FrameworkNode& node, TensorId table) {
  return node.op == "embedding" && !node.inputs.empty() && node.inputs[0] == table;
}

// Whether layers alone read rows of `columns` features, or sums of them: a trained table and such a layer would be one
// table.
bool OnlyLayersRead(const Lowered& lowered, TensorId rows, int64_t columns, int depth = 0) {
  constexpr int kMostSteps = 4;
  const Tensor& tensor = lowered.graph.tensors[rows];
  if (depth == kMostSteps || tensor.consumers.empty() || tensor.shape.rank() == 0) return false;
  if (tensor.shape.dims.back() != columns) return false;
  return std::all_of(tensor.consumers.begin(), tensor.consumers.end(), [&](NodeId reader) {
    const FrameworkNode& node = lowered.graph.nodes[reader];
    const bool has_weight = node.inputs.size() > 1 && node.inputs[0] == rows && node.inputs[1].valid();
    if (IsProduct(node.op)) return has_weight && lowered.kinds[node.inputs[1]] == TensorKind::kParameter;
    if (!IsWholeView(node.op) && node.op != "add" && node.op != "sub") return false;
    return OnlyLayersRead(lowered, node.outputs[0], columns, depth + 1);
  });
}

// nn.Embedding.from_pretrained(features), frozen unless freeze=False (torch/nn/modules/sparse.py): a table of
// what is known of each item, which a layer brings down to the size of the learned ones.
bool IsTableOfFeatures(const Lowered& lowered, TensorId id) {
  const Tensor& table = lowered.graph.tensors[id];
  return table.shape.rank() == 2 && !table.consumers.empty() &&
         std::all_of(table.consumers.begin(), table.consumers.end(), [&](NodeId reader) {
           const FrameworkNode& node = lowered.graph.nodes[reader];
           return LooksUp(node, id) && OnlyLayersRead(lowered, node.outputs[0], table.shape.dims[1]);
         });
}

// Operators and the places at which they read weights.
bool IsLayerOf(const FrameworkNode& node, TensorId id) {
  if (LooksUp(node, id)) return true;
  if (!ReadsWeight(node.op) || node.inputs.empty()) return false;
  return std::find(node.inputs.begin() + 1, node.inputs.end(), id) != node.inputs.end();
}

bool IsConstantWeight(const FrameworkGraph& graph, const IdVector<TensorId, TensorKind>& kinds, TensorId id) {
  const Tensor& tensor = graph.tensors[id];
  if (tensor.role != TensorRole::kConstant || kinds[id] != TensorKind::kBuffer) return false;
  if (!IsFloating(tensor.dtype)) return false;
  if (NumElements(tensor.shape).value_or(0) < 2) return false;
  return std::any_of(tensor.consumers.begin(), tensor.consumers.end(),
                     [&](NodeId reader) { return IsLayerOf(graph.nodes[reader], id); });
}

// A path is that of a buffer of the module, "bn.running_mean"; "val_3" is a number of the code.
bool IsNamedResult(std::string_view name) { return name.find('.') == std::string_view::npos && !IsExporterName(name); }

// A step that computes such a value anew gives it no history (lower/exporters/folded_expressions.cc).
bool IsComputedAnew(const Lowered& lowered, const FrameworkNode& node) {
  if (node.op != "full" || node.outputs.size() != 1 || !IsNamedResult(node.name)) return false;
  const Tensor& made = lowered.graph.tensors[node.outputs[0]];
  return made.name == absl::StrCat(node.name, "/computed") && IsFloating(made.dtype);
}

// Takes the result of `node` for a tensor of its own.
void Copy(FrameworkNode& node) {
  node.op = "mul_scalar";
  node.attributes["scalar"] = 1.0;
}

// Stands for a call that joined, repeated or picked parameters which the file has not
// (lower/exporters/folded_weight.cc).
bool IsMadeOf(const Lowered& lowered, const FrameworkNode& node) {
  if (node.op != "identity" && node.op != "mul_scalar") return false;
  const TensorId stored = node.inputs[0];
  return NamesMore(node.name) && lowered.graph.tensors[stored].name == node.name &&
         lowered.kinds[stored] == TensorKind::kParameter;
}

// The parameter stands for what was computed, which is a new tensor where it is no view.
void ReadParameter(FrameworkNode& node, Lowered& lowered) {
  Tensor stored = lowered.graph.tensors[node.outputs[0]];
  stored.name = node.name;
  stored.role = TensorRole::kInitializer;
  const TensorId id = lowered.graph.tensors.Add(std::move(stored));
  lowered.kinds.Add(TensorKind::kParameter);
  lowered.releases.Add(-1);
  lowered.graph.initializers.push_back(id);
  node.op = "identity";
  node.inputs = {id};
  if (!NamesAlias(node.name)) Copy(node);
}

// Trains the stored numbers that stand for no buffer and that `chosen` takes.
template <typename Chosen>
bool TrainChosen(Lowered& lowered, const Chosen& chosen) {
  bool any = false;
  for (TensorId id(0); lowered.graph.tensors.contains(id); id = TensorId(id.value() + 1)) {
    const Tensor& tensor = lowered.graph.tensors[id];
    const bool is_stored = tensor.role == TensorRole::kInitializer && lowered.kinds[id] == TensorKind::kBuffer;
    if (!is_stored || !IsFloating(tensor.dtype) || !IsNamedResult(tensor.name) || !chosen(tensor)) continue;
    lowered.kinds[id] = TensorKind::kParameter;
    any = true;
  }
  bool added = false;
  for (FrameworkNode& node : lowered.graph.nodes) {
    if (!IsComputedAnew(lowered, node) || !chosen(lowered.graph.tensors[node.outputs[0]])) continue;
    ReadParameter(node, lowered);
    added = true;
  }
  if (added) LinkTensors(lowered.graph);
  return any || added;
}

}  // namespace

std::optional<Diagnostic> FindConstantWeights(const Lowered& lowered) {
  int64_t count = 0;
  for (TensorId id(0); lowered.graph.tensors.contains(id); id = TensorId(id.value() + 1))
    count += IsConstantWeight(lowered.graph, lowered.kinds, id);
  if (count == 0) return std::nullopt;
  return Diagnostic{Code::kTrainedUndecided,
                    Severity::kNote,
                    count,
                    absl::StrCat(count,
                                 " stored tensors in Constant nodes stand where layers have weights; they are "
                                 "counted as not trained"),
                    {"why: exporters of torch store parameters as initializers and numbers of the code in Constant "
                     "nodes; a tool may have moved them"},
                    {}};
}

bool TrainConstantWeights(Lowered& lowered) {
  bool any = false;
  for (TensorId id(0); lowered.graph.tensors.contains(id); id = TensorId(id.value() + 1)) {
    if (!IsConstantWeight(lowered.graph, lowered.kinds, id)) continue;
    lowered.kinds[id] = TensorKind::kParameter;
    any = true;
  }
  return any;
}

bool TrainComputed(Lowered& lowered) {
  return TrainChosen(lowered, [](const Tensor&) { return true; });
}

bool TrainBesideParameters(Lowered& lowered) {
  std::set<Dims> parameters;
  for (TensorId id : lowered.graph.initializers) {
    if (lowered.kinds[id] == TensorKind::kParameter) parameters.insert(lowered.graph.tensors[id].shape.dims);
  }
  return TrainChosen(lowered, [&](const Tensor& tensor) { return parameters.contains(tensor.shape.dims); });
}

bool CopyMadeOf(Lowered& lowered) {
  bool any = false;
  for (FrameworkNode& node : lowered.graph.nodes) {
    if (node.op != "identity" || !IsMadeOf(lowered, node)) continue;
    Copy(node);
    any = true;
  }
  return any;
}

bool ShrinkMadeOf(Lowered& lowered) {
  bool any = false;
  for (FrameworkNode& node : lowered.graph.nodes) {
    if (!IsMadeOf(lowered, node)) continue;
    Tensor& stored = lowered.graph.tensors[node.inputs[0]];
    stored.shape = Shape(Dims(stored.shape.rank(), 1));
    node.op = "repeat";
    node.attributes.erase("scalar");
    any = true;
  }
  return any;
}

bool FreezeLooseTables(Lowered& lowered) {
  const FrameworkGraph& graph = lowered.graph;
  bool any = false;
  for (TensorId id(0); graph.tensors.contains(id); id = TensorId(id.value() + 1)) {
    const Tensor& tensor = graph.tensors[id];
    if (lowered.kinds[id] != TensorKind::kParameter || tensor.producer.valid()) continue;
    if (!IsTable(tensor) && !IsListOfNumbers(graph, id)) continue;
    if (IsReadLoosely(graph, id) || IsTableOfPositions(lowered, tensor) || IsTableOfFeatures(lowered, id))
      any |= lowered.frozen.insert(id).second;
  }
  return any;
}

}  // namespace onnx_mem
