// Builds a lowered graph node by node, as forward code would run, and asks when Python releases a value.
#ifndef ONNX_MEM_TESTS_ANALYZER_ASSUME_NAMES_LOWERED_PROGRAM_H_
#define ONNX_MEM_TESTS_ANALYZER_ASSUME_NAMES_LOWERED_PROGRAM_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "analyzer/assume/names/releases.h"
#include "analyzer/exported/source_trace.h"
#include "analyzer/graph/graph.h"

namespace onnx_mem::names {

// Every tensor is 2x4 unless said otherwise.
class LoweredProgram {
 public:
  LoweredProgram() { graph_.inputs.push_back(Make("input", {2, 4})); }

  TensorId input() const { return graph_.inputs[0]; }

  // `calls` as "a > a.b": the module calls around the operator.
  TensorId Run(std::string_view op, TensorIds inputs, std::string_view calls = "", Dims dims = {2, 4}) {
    FrameworkNode node;
    node.op = std::string(op);
    node.name = op;
    node.inputs = std::move(inputs);
    if (!calls.empty()) node.calls = absl::StrSplit(absl::string_view(calls.data(), calls.size()), " > ");
    const TensorId output = Make(op, std::move(dims));
    node.outputs = {output};
    const NodeId id = graph_.nodes.Add(node);
    graph_.tensors[output].producer = id;
    for (TensorId input : node.inputs) graph_.tensors[input].consumers.push_back(id);
    return output;
  }

  // What is in the file, not made by a node.
  TensorId Stored(std::string_view name) { return Make(name, {2, 4}); }

  // The framework's call that a dynamo export tells of the node that made `id`.
  void SayFrameworkOp(TensorId id, std::string_view op) {
    graph_.nodes[graph_.tensors[id].producer].framework_op = std::string(op);
  }

  // Sets an attribute of the node that made `id`.
  void Say(TensorId id, std::string_view name, Attribute value) {
    graph_.nodes[graph_.tensors[id].producer].attributes[std::string(name)] = std::move(value);
  }

  // Gives the node that made `id` source lines, one for the model's forward, of the number `line`, and one for each of
  // its calls; equal texts of one number are one line.
  void OnLines(TensorId id, const std::vector<std::string>& texts, int line = 1) {
    std::string trace;
    for (const std::string& text : texts) {
      absl::StrAppend(&trace, "File \"net.py\", line ", line, ", in forward\n    ", text, "\n");
      line = 1;
    }
    graph_.nodes[graph_.tensors[id].producer].source_trace = std::make_shared<const std::string>(trace);
  }
  const FrameworkGraph& graph() const { return graph_; }

  // Node index after which `id` is freed, with likely locals and with the certain rules alone.
  std::pair<int32_t, int32_t> Release(TensorId id) const {
    return {ReleaseAfter(graph_, NameRules::kLocals)[id], ReleaseAfter(graph_, NameRules::kArguments)[id]};
  }
  // The same if every value had a name of its own, as far as code gives none anew.
  int32_t ReleaseAtMost(TensorId id) const { return ReleaseAfter(graph_, NameRules::kEveryName)[id]; }
  // And if functions had lists of all their values.
  int32_t ReleaseWithLists(TensorId id) const { return ReleaseAfter(graph_, NameRules::kWholeCalls)[id]; }
  int32_t last() const { return static_cast<int32_t>(graph_.nodes.size()) - 1; }

 private:
  TensorId Make(std::string_view name, Dims dims) {
    Tensor tensor;
    tensor.name = std::string(name);
    tensor.shape = Shape(std::move(dims));
    tensor.dtype = DType::kFloat32;
    return graph_.tensors.Add(std::move(tensor));
  }

  FrameworkGraph graph_;
};

}  // namespace onnx_mem::names

#endif  // ONNX_MEM_TESTS_ANALYZER_ASSUME_NAMES_LOWERED_PROGRAM_H_
