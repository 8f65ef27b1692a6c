#include "analyzer/graph/dag.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/graph/framework_graph.h"
#include "analyzer/graph/graph.h"

namespace onnx_mem {
namespace {

absl::Status Broken(std::string_view what) {
  return absl::InternalError(absl::StrCat("graph is inconsistent: ", absl::string_view(what.data(), what.size())));
}

template <class T>
const T* FindAttribute(const AnyNode& node, std::string_view name) {
  auto it = node.attributes.find(name);
  return it == node.attributes.end() ? nullptr : std::get_if<T>(&it->second);
}

template <class NodeT>
absl::Status VerifyReads(const Dag<NodeT>& graph, NodeId id, const IdVector<TensorId, bool>& defined) {
  absl::Status status;
  ForEachRead(graph.nodes[id], [&](TensorId tensor) {
    if (!tensor.valid()) return;
    if (!graph.tensors.contains(tensor)) {
      status.Update(Broken(absl::StrCat(Describe(graph, id), " reads an unknown tensor")));
    } else if (!defined[tensor]) {
      status.Update(
          Broken(absl::StrCat(Describe(graph, id), " reads '", graph.tensors[tensor].name, "' before it is made")));
    }
  });
  return status;
}

template <class NodeT>
absl::Status VerifyLinks(const Dag<NodeT>& graph) {
  Dag<NodeT> relinked = graph;
  LinkTensors(relinked);
  for (TensorId id(0); graph.tensors.contains(id); id = TensorId(id.value() + 1)) {
    if (graph.tensors[id].producer != relinked.tensors[id].producer ||
        graph.tensors[id].consumers != relinked.tensors[id].consumers) {
      return Broken(absl::StrCat("links of tensor '", graph.tensors[id].name, "' disagree with the nodes"));
    }
  }
  return absl::OkStatus();
}

absl::Status VerifyLiterals(const IdVector<TensorId, Tensor>& tensors) {
  for (const Tensor& tensor : tensors) {
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

std::string TensorNames(const IdVector<TensorId, Tensor>& tensors, const TensorIds& ids) {
  return absl::StrJoin(ids, ", ", [&](std::string* out, TensorId id) {
    absl::StrAppend(out, id.valid() ? tensors[id].name : std::string("-"));
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

int64_t IntAttribute(const AnyNode& node, std::string_view name, int64_t fallback) {
  const auto* value = FindAttribute<int64_t>(node, name);
  return value ? *value : fallback;
}

double FloatAttribute(const AnyNode& node, std::string_view name, double fallback) {
  const auto* value = FindAttribute<double>(node, name);
  return value ? *value : fallback;
}

std::string StringAttribute(const AnyNode& node, std::string_view name, std::string_view fallback) {
  const auto* value = FindAttribute<std::string>(node, name);
  return value ? *value : std::string(fallback);
}

std::vector<int64_t> IntsAttribute(const AnyNode& node, std::string_view name, std::vector<int64_t> fallback) {
  const auto* value = FindAttribute<std::vector<int64_t>>(node, name);
  if (value) return *value;
  return fallback;
}

std::string Describe(const AnyNode& node, NodeId id) {
  if (node.name.empty()) return absl::StrCat("node #", id.value(), " (", node.op.str(), ")");
  return absl::StrCat("node '", node.name, "' (", node.op.str(), ")");
}

template <class NodeT>
void LinkTensors(Dag<NodeT>& graph) {
  for (Tensor& tensor : graph.tensors) {
    tensor.producer = NodeId();
    tensor.consumers.clear();
  }
  for (NodeId id(0); graph.nodes.contains(id); id = NodeId(id.value() + 1)) {
    for (TensorId output : graph.nodes[id].outputs) {
      if (output.valid()) graph.tensors[output].producer = id;
    }
    ForEachRead(graph.nodes[id], [&](TensorId input) {
      if (input.valid()) graph.tensors[input].consumers.push_back(id);
    });
  }
}

template <class NodeT>
absl::Status VerifyGraph(const Dag<NodeT>& graph) {
  IdVector<TensorId, bool> defined(graph.tensors.size(), false);
  for (const auto* sources : {&graph.inputs, &graph.initializers}) {
    for (TensorId id : *sources) {
      if (!graph.tensors.contains(id)) return Broken("an input or initializer is no tensor of the graph");
      defined[id] = true;
    }
  }
  for (NodeId id(0); graph.nodes.contains(id); id = NodeId(id.value() + 1)) {
    if (absl::Status s = VerifyReads(graph, id, defined); !s.ok()) return s;
    for (TensorId output : graph.nodes[id].outputs) {
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
  return VerifyLiterals(graph.tensors);
}

template <class NodeT>
std::string DumpGraph(const Dag<NodeT>& graph) {
  std::string out;
  for (TensorId id : graph.inputs) {
    absl::StrAppend(&out, "input ", graph.tensors[id].name, " ", TypeText(graph.tensors[id]), "\n");
  }
  for (TensorId id : graph.initializers) {
    absl::StrAppend(&out, "initializer ", graph.tensors[id].name, " ", TypeText(graph.tensors[id]), "\n");
  }
  for (const NodeT& node : graph.nodes) {
    if (!node.name.empty()) absl::StrAppend(&out, node.name, " = ");
    if constexpr (requires { node.domain; }) absl::StrAppend(&out, node.domain, node.domain.empty() ? "" : "::");
    absl::StrAppend(&out, node.op.str(), "(", TensorNames(graph.tensors, node.inputs), ") -> ");
    absl::StrAppend(&out,
                    absl::StrJoin(node.outputs, ", ",
                                  [&](std::string* text, TensorId id) {
                                    if (!id.valid()) return absl::StrAppend(text, "-");
                                    absl::StrAppend(text, graph.tensors[id].name, " ", TypeText(graph.tensors[id]));
                                  }),
                    "\n");
  }
  absl::StrAppend(&out, "outputs ", TensorNames(graph.tensors, graph.outputs), "\n");
  return out;
}

template void LinkTensors(Dag<Node>&);
template void LinkTensors(Dag<FrameworkNode>&);
template absl::Status VerifyGraph(const Dag<Node>&);
template absl::Status VerifyGraph(const Dag<FrameworkNode>&);
template std::string DumpGraph(const Dag<Node>&);
template std::string DumpGraph(const Dag<FrameworkNode>&);

}  // namespace onnx_mem
