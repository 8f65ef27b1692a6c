#include "analyzer/graph/graph.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/graph/verify_graph.h"

namespace onnx_mem {
namespace {

absl::Status Broken(std::string_view what) {
  return absl::InternalError(absl::StrCat("graph is inconsistent: ", absl::string_view(what.data(), what.size())));
}

template <class T>
const T* FindAttribute(const Node& node, std::string_view name) {
  auto it = node.attributes.find(name);
  return it == node.attributes.end() ? nullptr : std::get_if<T>(&it->second);
}

absl::Status VerifyReads(const Graph& graph, NodeId id, const TensorIds& reads,
                         const IdVector<TensorId, bool>& defined) {
  for (TensorId tensor : reads) {
    if (!tensor.valid()) continue;
    if (!graph.tensors.contains(tensor)) return Broken(absl::StrCat(Describe(graph, id), " reads an unknown tensor"));
    if (!defined[tensor]) {
      return Broken(absl::StrCat(Describe(graph, id), " reads '", graph.tensors[tensor].name, "' before it is made"));
    }
  }
  return absl::OkStatus();
}

absl::Status VerifyLinks(const Graph& graph) {
  Graph relinked = graph;
  LinkTensors(relinked);
  for (TensorId id(0); graph.tensors.contains(id); id = TensorId(id.value() + 1)) {
    if (graph.tensors[id].producer != relinked.tensors[id].producer ||
        graph.tensors[id].consumers != relinked.tensors[id].consumers) {
      return Broken(absl::StrCat("links of tensor '", graph.tensors[id].name, "' disagree with the nodes"));
    }
  }
  return absl::OkStatus();
}

absl::Status VerifyLiterals(const Graph& graph) {
  for (const Tensor& tensor : graph.tensors) {
    if (!tensor.value) continue;
    const size_t count = std::visit([](const auto& data) { return data.size(); }, tensor.value->data);
    std::optional<int64_t> expected = NumElements(Shape(tensor.value->dims));
    if (!expected || static_cast<size_t>(*expected) != count) {
      return Broken(absl::StrCat("value of '", tensor.name, "' has ", count, " elements"));
    }
    if (tensor.shape.known() && tensor.shape.dims != tensor.value->dims) {
      return Broken(absl::StrCat("value of '", tensor.name, "' has another shape than the tensor"));
    }
  }
  return absl::OkStatus();
}

std::string TensorNames(const Graph& graph, const TensorIds& ids) {
  return absl::StrJoin(ids, ", ", [&](std::string* out, TensorId id) {
    absl::StrAppend(out, id.valid() ? graph.tensors[id].name : std::string("-"));
  });
}

std::string TypeText(const Tensor& tensor) {
  return absl::StrCat(std::string(NameOf(tensor.dtype)), " ", ToString(tensor.shape),
                      tensor.upper_bound ? " at most" : "");
}

}  // namespace

std::string_view NameOf(TensorRole role) {
  switch (role) {
    case TensorRole::kInput: return "input";
    case TensorRole::kInitializer: return "initializer";
    case TensorRole::kConstant: return "constant";
    case TensorRole::kActivation: return "activation";
  }
  return "activation";
}

int64_t IntAttribute(const Node& node, std::string_view name, int64_t fallback) {
  const auto* value = FindAttribute<int64_t>(node, name);
  return value ? *value : fallback;
}

double FloatAttribute(const Node& node, std::string_view name, double fallback) {
  const auto* value = FindAttribute<double>(node, name);
  return value ? *value : fallback;
}

std::string StringAttribute(const Node& node, std::string_view name, std::string_view fallback) {
  const auto* value = FindAttribute<std::string>(node, name);
  return value ? *value : std::string(fallback);
}

std::vector<int64_t> IntsAttribute(const Node& node, std::string_view name, std::vector<int64_t> fallback) {
  const auto* value = FindAttribute<std::vector<int64_t>>(node, name);
  if (value) return *value;
  return fallback;
}

std::string Describe(const Graph& graph, NodeId id) {
  const Node& node = graph.nodes[id];
  if (node.name.empty()) return absl::StrCat("node #", id.value(), " (", node.op.str(), ")");
  return absl::StrCat("node '", node.name, "' (", node.op.str(), ")");
}

std::string AtBatch(const Graph& graph) { return graph.batch > 0 ? absl::StrCat(" at batch ", graph.batch) : ""; }

void LinkTensors(Graph& graph) {
  for (Tensor& tensor : graph.tensors) {
    tensor.producer = NodeId();
    tensor.consumers.clear();
  }
  for (NodeId id(0); graph.nodes.contains(id); id = NodeId(id.value() + 1)) {
    const Node& node = graph.nodes[id];
    for (TensorId output : node.outputs) {
      if (output.valid()) graph.tensors[output].producer = id;
    }
    for (const auto* reads : {&node.inputs, &node.captures}) {
      for (TensorId input : *reads) {
        if (input.valid()) graph.tensors[input].consumers.push_back(id);
      }
    }
  }
}

absl::Status VerifyGraph(const Graph& graph) {
  IdVector<TensorId, bool> defined(graph.tensors.size(), false);
  for (const auto* sources : {&graph.inputs, &graph.initializers}) {
    for (TensorId id : *sources) {
      if (!graph.tensors.contains(id)) return Broken("an input or initializer is no tensor of the graph");
      defined[id] = true;
    }
  }
  for (NodeId id(0); graph.nodes.contains(id); id = NodeId(id.value() + 1)) {
    const Node& node = graph.nodes[id];
    if (absl::Status s = VerifyReads(graph, id, node.inputs, defined); !s.ok()) return s;
    if (absl::Status s = VerifyReads(graph, id, node.captures, defined); !s.ok()) return s;
    for (TensorId output : node.outputs) {
      if (!output.valid()) continue;
      if (!graph.tensors.contains(output)) return Broken(absl::StrCat(Describe(graph, id), " makes an unknown tensor"));
      if (defined[output]) return Broken(absl::StrCat("tensor '", graph.tensors[output].name, "' is made twice"));
      defined[output] = true;
    }
  }
  for (TensorId id : graph.outputs) {
    if (!graph.tensors.contains(id) || !defined[id]) return Broken("a graph output is made by no node");
  }
  if (absl::Status s = VerifyLinks(graph); !s.ok()) return s;
  return VerifyLiterals(graph);
}

std::string DumpGraph(const Graph& graph) {
  std::string out;
  for (TensorId id : graph.inputs) {
    absl::StrAppend(&out, "input ", graph.tensors[id].name, " ", TypeText(graph.tensors[id]), "\n");
  }
  for (TensorId id : graph.initializers) {
    absl::StrAppend(&out, "initializer ", graph.tensors[id].name, " ", TypeText(graph.tensors[id]), "\n");
  }
  for (const Node& node : graph.nodes) {
    if (!node.name.empty()) absl::StrAppend(&out, node.name, " = ");
    absl::StrAppend(&out, node.domain.empty() ? "" : node.domain + "::", node.op.str(), "(",
                    TensorNames(graph, node.inputs), ") -> ");
    absl::StrAppend(&out,
                    absl::StrJoin(node.outputs, ", ",
                                  [&](std::string* text, TensorId id) {
                                    if (!id.valid()) return absl::StrAppend(text, "-");
                                    absl::StrAppend(text, graph.tensors[id].name, " ", TypeText(graph.tensors[id]));
                                  }),
                    "\n");
  }
  absl::StrAppend(&out, "outputs ", TensorNames(graph, graph.outputs), "\n");
  return out;
}

}  // namespace onnx_mem
