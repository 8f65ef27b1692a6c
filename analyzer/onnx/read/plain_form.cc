#include "analyzer/onnx/read/plain_form.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "analyzer/exported/value_names.h"
#include "analyzer/graph/absl_view.h"
#include "analyzer/graph/dtype.h"
#include "analyzer/graph/program_signature.h"
#include "analyzer/onnx/read/tensor_literal.h"
#include "onnx/onnx_pb.h"

namespace onnx_mem {
namespace {

using Names = absl::flat_hash_set<std::string>;

bool IsStandard(const onnx::NodeProto& node, std::string_view op) {
  return node.op_type() == op && (node.domain().empty() || node.domain() == "ai.onnx");
}

bool HasSeveralElements(const onnx::TensorProto& tensor) {
  return std::any_of(tensor.dims().begin(), tensor.dims().end(), [](int64_t dim) { return dim > 1; });
}

// The tensor of a Constant node; nullptr for other nodes and other forms.
onnx::TensorProto* StoredIn(onnx::NodeProto& node) {
  if (!IsStandard(node, "Constant") || node.output_size() != 1 || node.output(0).empty()) return nullptr;
  if (node.attribute_size() != 1 || node.attribute(0).name() != "value" || !node.attribute(0).has_t()) return nullptr;
  return node.mutable_attribute(0)->mutable_t();
}

// torch's exporters store each parameter as an initializer. A file without a matrix among them is of a tool that does
// not, whatever the names.
bool StoresWeights(const onnx::GraphProto& graph) {
  return std::any_of(graph.initializer().begin(), graph.initializer().end(), [](const onnx::TensorProto& tensor) {
    return tensor.dims_size() > 1 && HasSeveralElements(tensor) && IsFloating(DTypeOf(tensor.data_type()));
  });
}

// Values that are handed out or read within a body: they stay as they are.
void CollectReads(const onnx::GraphProto& body, Names& names) {
  for (const auto& output : body.output()) names.insert(output.name());
  for (const auto& node : body.node()) {
    names.insert(node.input().begin(), node.input().end());
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) CollectReads(attribute.g(), names);
      for (const auto& inner : attribute.graphs()) CollectReads(inner, names);
    }
  }
}

Names OutputsAndReadsOfBodies(const onnx::GraphProto& graph) {
  Names names;
  for (const auto& output : graph.output()) names.insert(output.name());
  for (const auto& node : graph.node()) {
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) CollectReads(attribute.g(), names);
      for (const auto& body : attribute.graphs()) CollectReads(body, names);
    }
  }
  return names;
}

void RemoveNodes(onnx::GraphProto& graph, const absl::flat_hash_set<int>& removed) {
  if (removed.empty()) return;
  auto& nodes = *graph.mutable_node();
  int kept = 0;
  for (int i = 0; i < nodes.size(); ++i) {
    if (!removed.contains(i)) nodes.SwapElements(i, kept++);
  }
  nodes.DeleteSubrange(kept, nodes.size() - kept);
}

// "alpha", "layer.1", not "n12", which a tool may have made of an exporter's name.
bool HasWord(std::string_view name) {
  const bool has_part = name.find_first_of("._") != std::string_view::npos;
  return has_part || name.find_first_of("0123456789") == std::string_view::npos;
}

void StoreConstants(onnx::GraphProto& graph) {
  const bool stores_weights = StoresWeights(graph);
  Names given;
  for (const auto& output : graph.output()) given.insert(output.name());
  absl::flat_hash_set<int> stored;
  for (int i = 0; i < graph.node_size(); ++i) {
    onnx::TensorProto* tensor = StoredIn(*graph.mutable_node(i));
    if (tensor == nullptr) continue;
    const std::string& name = graph.node(i).output(0);
    if (given.contains(name) || !IsFloating(DTypeOf(tensor->data_type()))) continue;
    const bool is_named = !IsExporterName(name) && HasWord(name);
    if (!is_named && (stores_weights || !HasSeveralElements(*tensor))) continue;
    onnx::TensorProto& initializer = *graph.add_initializer();
    initializer.Swap(tensor);
    initializer.set_name(name);
    stored.insert(i);
  }
  RemoveNodes(graph, stored);
}

// Results of Identities of a stored tensor that no other operator reads, and which tensor it is. Not those that are
// handed out or read in bodies.
absl::flat_hash_map<std::string, std::string> FindAliases(const onnx::GraphProto& graph) {
  Names stored, kept = OutputsAndReadsOfBodies(graph), read_directly;
  for (const auto& tensor : graph.initializer()) stored.insert(tensor.name());
  for (const auto& node : graph.node()) {
    if (!IsStandard(node, "Identity")) read_directly.insert(node.input().begin(), node.input().end());
  }
  absl::flat_hash_map<std::string, std::string> aliases;
  for (const auto& node : graph.node()) {
    if (!IsStandard(node, "Identity") || node.input_size() != 1 || node.output_size() != 1) continue;
    const std::string& of = node.input(0);
    const bool is_free = !kept.contains(node.output(0)) && !kept.contains(of) && !read_directly.contains(of);
    if (stored.contains(of) && is_free) aliases.emplace(node.output(0), of);
  }
  return aliases;
}

// False if there is nothing to read through.
bool ReadThroughIdentities(onnx::GraphProto& graph) {
  const absl::flat_hash_map<std::string, std::string> aliases = FindAliases(graph);
  if (aliases.empty()) return false;
  absl::flat_hash_set<int> removed;
  for (int i = 0; i < graph.node_size(); ++i) {
    onnx::NodeProto& node = *graph.mutable_node(i);
    if (IsStandard(node, "Identity") && node.output_size() == 1 && aliases.contains(node.output(0))) removed.insert(i);
    for (std::string& input : *node.mutable_input()) {
      if (const auto of = aliases.find(input); of != aliases.end()) input = of->second;
    }
  }
  RemoveNodes(graph, removed);
  return true;
}

// What all of `names` begin with.
std::string_view CommonPrefix(const std::vector<std::string_view>& names) {
  if (names.size() < 2) return {};
  std::string_view prefix = names.front();
  for (std::string_view name : names) {
    const auto differ = std::mismatch(prefix.begin(), prefix.end(), name.begin(), name.end()).first;
    prefix = prefix.substr(0, static_cast<size_t>(differ - prefix.begin()));
  }
  return prefix;
}

// As much of what all names begin with as leaves names of torch's exporters, or of the program that they exported;
// nothing where they are that already.
std::string PrefixToStrip(const std::vector<std::string_view>& names, const ProgramSignature& signature) {
  const std::string_view common = CommonPrefix(names);
  const auto is_exporters = [&](std::string_view name) {
    return IsTorchExporterName(name) || signature.FindTarget(name) != nullptr;
  };
  for (size_t length = common.size(); length > 0; --length) {
    const bool restores = std::any_of(names.begin(), names.end(),
                                      [&](std::string_view name) { return is_exporters(name.substr(length)); });
    if (restores) return std::string(common.substr(0, length));
  }
  return "";
}

ProgramSignature ProgramOf(const onnx::GraphProto& graph) {
  for (const auto& entry : graph.metadata_props()) {
    if (entry.key() != "pkg.torch.export.ExportedProgram.graph_signature") continue;
    return ProgramSignature::Parse(entry.value());
  }
  return {};
}

using Rename = absl::FunctionRef<void(std::string& name)>;

void RenameValues(onnx::GraphProto& graph, Rename rename) {
  for (auto& tensor : *graph.mutable_initializer()) rename(*tensor.mutable_name());
  for (auto& tensor : *graph.mutable_sparse_initializer()) rename(*tensor.mutable_values()->mutable_name());
  for (auto& info : *graph.mutable_value_info()) rename(*info.mutable_name());
  for (auto& input : *graph.mutable_input()) rename(*input.mutable_name());
  for (auto& output : *graph.mutable_output()) rename(*output.mutable_name());
  for (auto& node : *graph.mutable_node()) {
    for (std::string& input : *node.mutable_input()) rename(input);
    for (std::string& output : *node.mutable_output()) rename(output);
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) RenameValues(*attribute.mutable_g(), rename);
      for (auto& body : *attribute.mutable_graphs()) RenameValues(body, rename);
    }
  }
}

void StripNodes(onnx::GraphProto& graph, const std::string& prefix) {
  for (auto& node : *graph.mutable_node()) {
    if (absl::StartsWith(node.name(), prefix)) node.set_name(node.name().substr(prefix.size()));
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) StripNodes(*attribute.mutable_g(), prefix);
      for (auto& body : *attribute.mutable_graphs()) StripNodes(body, prefix);
    }
  }
}

}  // namespace

void CountAxesFromFirst(onnx::GraphProto& graph) {
  for (auto& node : *graph.mutable_node()) {
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) CountAxesFromFirst(*attribute.mutable_g());
      for (auto& body : *attribute.mutable_graphs()) CountAxesFromFirst(body);
      if (!IsStandard(node, "Transpose") || attribute.name() != "perm") continue;
      const int rank = attribute.ints_size();
      for (int i = 0; i < rank; ++i) {
        const int64_t axis = attribute.ints(i);
        if (axis < 0 && axis >= -rank) attribute.set_ints(i, axis + rank);
      }
    }
  }
}

void StoreMovedWeights(onnx::GraphProto& graph) {
  constexpr int kLongestChain = 8;
  StoreConstants(graph);
  for (int i = 0; i < kLongestChain && ReadThroughIdentities(graph); ++i) {
  }
}

std::string StripPrefix(onnx::GraphProto& graph, SeenContents& seen) {
  Names faces;  // names that the user gives and reads
  for (const auto& input : graph.input()) faces.insert(input.name());
  for (const auto& output : graph.output()) faces.insert(output.name());
  std::vector<std::string_view> values, nodes;
  for (const auto& tensor : graph.initializer()) {
    if (!faces.contains(tensor.name())) values.push_back(tensor.name());
  }
  for (const auto& node : graph.node()) {
    if (!node.name().empty()) nodes.push_back(node.name());
    for (const std::string& output : node.output()) {
      if (!output.empty() && !faces.contains(output)) values.push_back(output);
    }
  }
  const std::string prefix = PrefixToStrip(values, ProgramOf(graph));
  const bool clashes = std::any_of(values.begin(), values.end(), [&](std::string_view name) {
    return faces.contains(View(name.substr(prefix.size())));
  });
  if (prefix.empty() || clashes) return "";
  const bool nodes_too =
      std::all_of(nodes.begin(), nodes.end(), [&](std::string_view name) { return name.starts_with(prefix); });
  RenameValues(graph, [&](std::string& name) {
    if (!faces.contains(name) && absl::StartsWith(name, prefix)) name.erase(0, prefix.size());
  });
  if (nodes_too) StripNodes(graph, prefix);
  SeenContents stripped;
  for (const auto& [name, contents] : seen)
    stripped.emplace(name.substr(name.starts_with(prefix) ? prefix.size() : 0), contents);
  seen = std::move(stripped);
  return prefix;
}

}  // namespace onnx_mem
