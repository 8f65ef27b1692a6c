#include "tests/analyzer/onnx/rewritten/file_rewrites.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "onnx/onnx_pb.h"

namespace onnx_mem {
namespace {

using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;
using onnx::TensorProto;
using Rename = std::function<std::string(const std::string&)>;

// `graph` and all bodies in it.
void ForEachGraph(GraphProto& graph, const std::function<void(GraphProto&)>& visit) {
  visit(graph);
  for (NodeProto& node : *graph.mutable_node()) {
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) ForEachGraph(*attribute.mutable_g(), visit);
      for (auto& body : *attribute.mutable_graphs()) ForEachGraph(body, visit);
    }
  }
}

bool IsFloat(const TensorProto& tensor) {
  return tensor.data_type() == TensorProto::FLOAT || tensor.data_type() == TensorProto::FLOAT16 ||
         tensor.data_type() == TensorProto::BFLOAT16 || tensor.data_type() == TensorProto::DOUBLE;
}

int64_t Elements(const TensorProto& tensor) {
  int64_t elements = 1;
  for (int64_t dim : tensor.dims()) elements *= dim;
  return elements;
}

// Names that belong to who runs the file.
std::set<std::string> Faces(const GraphProto& graph) {
  std::set<std::string> names = {""};
  for (const auto& input : graph.input()) names.insert(input.name());
  for (const auto& output : graph.output()) names.insert(output.name());
  return names;
}

std::set<std::string> Stored(GraphProto& graph) {
  std::set<std::string> names;
  ForEachGraph(graph, [&](GraphProto& g) {
    for (const auto& tensor : g.initializer()) names.insert(tensor.name());
  });
  return names;
}

// Every value but those of `kept`, and every node.
void RenameAll(GraphProto& graph, const std::set<std::string>& kept, const Rename& value, const Rename& node_name) {
  std::map<std::string, std::string> names;
  const auto rename = [&](std::string& name) {
    if (kept.contains(name)) return;
    const auto [it, fresh] = names.try_emplace(name);
    if (fresh) it->second = value(name);
    name = it->second;
  };
  ForEachGraph(graph, [&](GraphProto& g) {
    for (auto& tensor : *g.mutable_initializer()) rename(*tensor.mutable_name());
    for (auto* list : {g.mutable_input(), g.mutable_output(), g.mutable_value_info()}) {
      for (auto& info : *list) rename(*info.mutable_name());
    }
    for (NodeProto& node : *g.mutable_node()) {
      node.set_name(node_name(node.name()));
      for (std::string& name : *node.mutable_input()) rename(name);
      for (std::string& name : *node.mutable_output()) rename(name);
    }
  });
}

Rename Numbered(const char* letter) {
  return [letter, number = 0](const std::string&) mutable { return absl::StrCat(letter, number++); };
}

void PrefixNames(ModelProto& model) {
  const Rename prefixed = [](const std::string& name) { return name.empty() ? name : "zz_" + name; };
  RenameAll(*model.mutable_graph(), Faces(model.graph()), prefixed, prefixed);
}

void PrefixValues(ModelProto& model) {
  RenameAll(
      *model.mutable_graph(), Faces(model.graph()), [](const std::string& name) { return "zz_" + name; },
      [](const std::string& name) { return name; });
}

void NumberNodes(ModelProto& model) {
  std::set<std::string> kept = Faces(model.graph());
  kept.merge(Stored(*model.mutable_graph()));
  RenameAll(*model.mutable_graph(), kept, Numbered("v"), Numbered("n"));
}

void NumberAll(ModelProto& model) {
  RenameAll(*model.mutable_graph(), Faces(model.graph()), Numbered("v"), Numbered("n"));
}

void DropNodeNames(ModelProto& model) {
  ForEachGraph(*model.mutable_graph(), [](GraphProto& graph) {
    for (NodeProto& node : *graph.mutable_node()) node.clear_name();
  });
}

void SwapOperands(ModelProto& model) {
  ForEachGraph(*model.mutable_graph(), [](GraphProto& graph) {
    for (NodeProto& node : *graph.mutable_node()) {
      const bool commutes = node.op_type() == "Mul" || node.op_type() == "Add";
      if (commutes && node.domain().empty() && node.input_size() == 2) node.mutable_input()->SwapElements(0, 1);
    }
  });
}

// New nodes in front of all others.
void AddInFront(GraphProto& graph, std::vector<NodeProto> added) {
  auto& nodes = *graph.mutable_node();
  std::vector<NodeProto> old(nodes.begin(), nodes.end());
  nodes.Clear();
  for (auto* list : {&added, &old}) {
    for (NodeProto& node : *list) *nodes.Add() = std::move(node);
  }
}

void HideBehindIdentities(ModelProto& model) {
  GraphProto& graph = *model.mutable_graph();
  std::map<std::string, std::string> aliases;
  std::vector<NodeProto> identities;
  for (const TensorProto& tensor : graph.initializer()) {
    if (!IsFloat(tensor)) continue;
    NodeProto node;
    node.set_name(absl::StrCat("Identity_", identities.size()));
    node.set_op_type("Identity");
    node.add_input(tensor.name());
    node.add_output(aliases[tensor.name()] = tensor.name() + "_alias");
    identities.push_back(std::move(node));
  }
  for (NodeProto& node : *graph.mutable_node()) {
    for (std::string& input : *node.mutable_input()) {
      if (const auto alias = aliases.find(input); alias != aliases.end()) input = alias->second;
    }
  }
  AddInFront(graph, std::move(identities));
}

void MoveIntoConstants(ModelProto& model, int64_t most_elements) {
  GraphProto& graph = *model.mutable_graph();
  std::vector<NodeProto> constants;
  std::vector<TensorProto> kept;
  for (TensorProto& tensor : *graph.mutable_initializer()) {
    if (!IsFloat(tensor) || Elements(tensor) > most_elements) {
      kept.push_back(std::move(tensor));
      continue;
    }
    NodeProto node;
    node.set_op_type("Constant");
    node.add_output(tensor.name());
    onnx::AttributeProto& value = *node.add_attribute();
    value.set_name("value");
    value.set_type(onnx::AttributeProto::TENSOR);
    *value.mutable_t() = std::move(tensor);
    value.mutable_t()->clear_name();
    constants.push_back(std::move(node));
  }
  graph.clear_initializer();
  for (TensorProto& tensor : kept) *graph.add_initializer() = std::move(tensor);
  AddInFront(graph, std::move(constants));
}

void MoveAllIntoConstants(ModelProto& model) { MoveIntoConstants(model, int64_t{1} << 60); }
void MoveSmallIntoConstants(ModelProto& model) { MoveIntoConstants(model, 1024); }

// Constants have no order: each right before its first reader in place of where it stands.
void DelayConstants(ModelProto& model) {
  MoveAllIntoConstants(model);
  auto& nodes = *model.mutable_graph()->mutable_node();
  std::map<std::string, NodeProto> constants;
  std::vector<NodeProto> ordered;
  const std::function<void(const GraphProto&)> put = [&](const GraphProto& read) {
    for (const NodeProto& node : read.node()) {
      for (const std::string& input : node.input()) {
        if (auto constant = constants.extract(input)) ordered.push_back(std::move(constant.mapped()));
      }
      for (const auto& attribute : node.attribute()) {
        if (attribute.has_g()) put(attribute.g());
      }
    }
  };
  for (const NodeProto& node : nodes) {
    if (node.op_type() == "Constant") constants.emplace(node.output(0), node);
  }
  for (const NodeProto& node : nodes) {
    if (node.op_type() == "Constant") continue;
    GraphProto alone;
    *alone.add_node() = node;
    put(alone);
    ordered.push_back(node);
  }
  for (auto& [name, node] : constants) ordered.insert(ordered.begin(), std::move(node));  // outputs, or read by nobody
  nodes.Clear();
  for (NodeProto& node : ordered) *nodes.Add() = std::move(node);
}

void StripValueInfos(ModelProto& model) {
  ForEachGraph(*model.mutable_graph(), [](GraphProto& graph) { graph.clear_value_info(); });
}

void StripMetadata(ModelProto& model) {
  model.clear_metadata_props();
  model.clear_doc_string();
  ForEachGraph(*model.mutable_graph(), [](GraphProto& graph) {
    graph.clear_metadata_props();
    graph.clear_doc_string();
    for (NodeProto& node : *graph.mutable_node()) {
      node.clear_metadata_props();
      node.clear_doc_string();
    }
    for (auto* list : {graph.mutable_input(), graph.mutable_output(), graph.mutable_value_info()}) {
      for (auto& info : *list) info.clear_metadata_props();
    }
    for (TensorProto& tensor : *graph.mutable_initializer()) tensor.clear_metadata_props();
  });
}

void ShuffleInitializers(ModelProto& model) {
  auto& stored = *model.mutable_graph()->mutable_initializer();
  std::mt19937 random(7);
  for (int i = stored.size() - 1; i > 0; --i)
    stored.SwapElements(i, static_cast<int>(random() % static_cast<unsigned>(i + 1)));
}

constexpr auto kRewrites = std::to_array<FileRewrite>({
    {"names prefixed", true, PrefixNames},
    {"values prefixed", true, PrefixValues},
    {"nodes numbered", false, NumberNodes},
    {"all numbered", false, NumberAll},
    {"nodes without names", false, DropNodeNames},
    {"operands of Mul and Add swapped", false, SwapOperands},
    {"weights behind Identity", true, HideBehindIdentities},
    {"weights in Constant nodes", true, MoveAllIntoConstants},
    {"small weights in Constant nodes", false, MoveSmallIntoConstants},
    {"weights in Constant nodes before their readers", true, DelayConstants},
    {"value infos stripped", true, StripValueInfos},
    {"metadata stripped", false, StripMetadata},
    {"initializers shuffled", true, ShuffleInitializers},
});

}  // namespace

std::span<const FileRewrite> FileRewrites() { return kRewrites; }

}  // namespace onnx_mem
