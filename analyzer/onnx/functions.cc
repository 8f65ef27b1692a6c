#include "analyzer/onnx/functions.h"

#include <tuple>
#include <utility>

#include "onnx/onnx_pb.h"

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"

namespace onnx_mem {
namespace {

constexpr int kDeepestCall = 64;
constexpr int64_t kMostNodes = 1'000'000;

using NodeList = google::protobuf::RepeatedPtrField<onnx::NodeProto>;
using Names = absl::flat_hash_map<std::string, std::string>;
using Attributes = absl::flat_hash_map<std::string, const onnx::AttributeProto*>;

std::string Domain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

absl::Status BadModel(const std::string& what) {
  return ErrorStatus(absl::StatusCode::kInvalidArgument, "bad-model", what);
}

class Inliner {
 public:
  explicit Inliner(onnx::ModelProto& model) : model_(model) {
    functions_.Swap(model.mutable_functions());
    for (const auto& function : functions_) {
      by_name_.emplace(std::make_tuple(Domain(function.domain()), function.name(), function.overload()), &function);
    }
  }

  absl::StatusOr<InlinedFunctions> Run() {
    CollectNames(model_.graph());
    RETURN_IF_ERROR(InlineIn(*model_.mutable_graph(), 0));
    return std::move(result_);
  }

 private:
  const onnx::FunctionProto* FunctionOf(const onnx::NodeProto& node) const {
    const auto it = by_name_.find(std::make_tuple(Domain(node.domain()), node.op_type(), node.overload()));
    return it == by_name_.end() ? nullptr : it->second;
  }
  void CollectNames(const onnx::GraphProto& graph);
  std::string Fresh(const std::string& name);
  absl::Status InlineIn(onnx::GraphProto& graph, int depth);
  absl::Status Append(onnx::NodeProto& node, NodeList& out, int depth);
  absl::Status Expand(const onnx::NodeProto& call, const onnx::FunctionProto& function, NodeList& out, int depth);
  Names BindNames(const onnx::NodeProto& call, const onnx::FunctionProto& function, const std::string& prefix);
  void PassThrough(const onnx::NodeProto& call, const onnx::FunctionProto& function, NodeList& out);
  void Rename(onnx::NodeProto& node, const Names& names, const Attributes& attributes);
  void RenameBody(onnx::GraphProto& body, Names names, const Attributes& attributes);
  void ImportOpsets(const onnx::FunctionProto& function);

  onnx::ModelProto& model_;
  google::protobuf::RepeatedPtrField<onnx::FunctionProto> functions_;
  absl::flat_hash_map<std::tuple<std::string, std::string, std::string>, const onnx::FunctionProto*> by_name_;
  absl::flat_hash_set<std::string> taken_;  // names of values and prefixes
  InlinedFunctions result_;
  int64_t nodes_ = 0;
};

void Inliner::CollectNames(const onnx::GraphProto& graph) {
  for (const auto& input : graph.input()) taken_.insert(input.name());
  for (const auto& tensor : graph.initializer()) taken_.insert(tensor.name());
  for (const auto& node : graph.node()) {
    taken_.insert(node.output().begin(), node.output().end());
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) CollectNames(attribute.g());
      for (const auto& body : attribute.graphs()) CollectNames(body);
    }
  }
}

std::string Inliner::Fresh(const std::string& name) {
  std::string fresh = name;
  for (int i = 1; !taken_.insert(fresh).second; ++i) fresh = absl::StrCat(name, "_", i);
  return fresh;
}

absl::Status Inliner::InlineIn(onnx::GraphProto& graph, int depth) {
  NodeList nodes(graph.GetArena());
  nodes.Swap(graph.mutable_node());
  for (auto& node : nodes) RETURN_IF_ERROR(Append(node, *graph.mutable_node(), depth));
  return absl::OkStatus();
}

absl::Status Inliner::Append(onnx::NodeProto& node, NodeList& out, int depth) {
  if (++nodes_ > kMostNodes) return BadModel("inlining the model's functions gives more than 1,000,000 nodes");
  if (const onnx::FunctionProto* function = FunctionOf(node)) return Expand(node, *function, out, depth + 1);
  for (auto& attribute : *node.mutable_attribute()) {
    if (attribute.has_g()) RETURN_IF_ERROR(InlineIn(*attribute.mutable_g(), depth));
    for (auto& body : *attribute.mutable_graphs()) RETURN_IF_ERROR(InlineIn(body, depth));
  }
  out.Add()->Swap(&node);
  return absl::OkStatus();
}

absl::Status Inliner::Expand(const onnx::NodeProto& call, const onnx::FunctionProto& function, NodeList& out, int depth) {
  if (depth > kDeepestCall) {
    return BadModel(absl::StrCat("function '", function.domain(), "::", function.name(), "' calls itself"));
  }
  if (call.input_size() > function.input_size() || call.output_size() > function.output_size()) {
    return BadModel(absl::StrCat("node '", call.name(), "' has more inputs or outputs than the function '", function.name(),
                                 "' that it calls"));
  }
  ++result_.calls;
  ImportOpsets(function);
  const std::string prefix = absl::StrCat(Fresh(call.name().empty() ? function.name() : call.name()), "/");
  const Names names = BindNames(call, function, prefix);
  Attributes attributes;
  for (const auto& attribute : function.attribute_proto()) attributes[attribute.name()] = &attribute;
  for (const auto& attribute : call.attribute()) attributes[attribute.name()] = &attribute;
  for (const auto& inner : function.node()) {
    onnx::NodeProto node = inner;
    node.set_name(absl::StrCat(prefix, inner.name().empty() ? inner.op_type() : inner.name()));
    Rename(node, names, attributes);
    absl::flat_hash_set<std::string_view> known;
    for (const auto& entry : inner.metadata_props()) known.insert(entry.key());
    for (const auto& entry : call.metadata_props()) {
      if (!known.contains(entry.key())) *node.add_metadata_props() = entry;
    }
    RETURN_IF_ERROR(Append(node, out, depth));
  }
  PassThrough(call, function, out);
  return absl::OkStatus();
}

// Formal and inner names -> names in the graph. An output that the call leaves out is named like an inner value.
Names Inliner::BindNames(const onnx::NodeProto& call, const onnx::FunctionProto& function, const std::string& prefix) {
  Names names;
  for (int i = 0; i < function.input_size(); ++i) names[function.input(i)] = i < call.input_size() ? call.input(i) : "";
  for (int i = 0; i < function.output_size(); ++i) {
    if (i < call.output_size() && !call.output(i).empty()) names.emplace(function.output(i), call.output(i));
  }
  for (const auto& node : function.node()) {
    for (const std::string& output : node.output()) {
      if (!output.empty() && !names.contains(output)) names[output] = Fresh(prefix + output);
    }
  }
  return names;
}

// Outputs that are inputs handed through, or a second name of one value.
void Inliner::PassThrough(const onnx::NodeProto& call, const onnx::FunctionProto& function, NodeList& out) {
  absl::flat_hash_map<std::string_view, std::string> source;
  for (int i = 0; i < function.input_size() && i < call.input_size(); ++i) source[function.input(i)] = call.input(i);
  for (int i = 0; i < call.output_size(); ++i) {
    if (call.output(i).empty()) continue;
    const auto [it, first] = source.emplace(function.output(i), call.output(i));
    if (first || it->second.empty()) continue;
    onnx::NodeProto& node = *out.Add();
    node.set_name(absl::StrCat(call.name(), "/", function.output(i)));
    node.set_op_type("Identity");
    node.add_input(it->second);
    node.add_output(call.output(i));
  }
}

void Inliner::Rename(onnx::NodeProto& node, const Names& names, const Attributes& attributes) {
  for (auto* list : {node.mutable_input(), node.mutable_output()}) {
    for (std::string& name : *list) {
      if (const auto it = names.find(name); it != names.end()) name = it->second;
    }
  }
  google::protobuf::RepeatedPtrField<onnx::AttributeProto> bound;
  for (auto& attribute : *node.mutable_attribute()) {
    if (!attribute.ref_attr_name().empty()) {
      const auto it = attributes.find(attribute.ref_attr_name());
      if (it == attributes.end()) continue;  // not given: the operator's own default
      onnx::AttributeProto& given = *bound.Add();
      given = *it->second;
      given.set_name(attribute.name());
      continue;
    }
    if (attribute.has_g()) RenameBody(*attribute.mutable_g(), names, attributes);
    for (auto& body : *attribute.mutable_graphs()) RenameBody(body, names, attributes);
    bound.Add()->Swap(&attribute);
  }
  node.mutable_attribute()->Swap(&bound);
}

void Inliner::RenameBody(onnx::GraphProto& body, Names names, const Attributes& attributes) {
  const auto define = [&](std::string& name) {
    if (name.empty()) return;
    std::string fresh = Fresh(name);
    names[name] = fresh;
    name = std::move(fresh);
  };
  for (auto& input : *body.mutable_input()) define(*input.mutable_name());
  for (auto& tensor : *body.mutable_initializer()) define(*tensor.mutable_name());
  for (const auto& node : body.node()) {
    for (const std::string& output : node.output()) {
      if (!output.empty()) names[output] = Fresh(output);
    }
  }
  for (auto& node : *body.mutable_node()) Rename(node, names, attributes);
  for (auto& output : *body.mutable_output()) {
    if (const auto it = names.find(output.name()); it != names.end()) output.set_name(it->second);
  }
}

void Inliner::ImportOpsets(const onnx::FunctionProto& function) {
  for (const auto& needed : function.opset_import()) {
    bool known = false;
    for (const auto& import : model_.opset_import()) {
      if (Domain(import.domain()) != Domain(needed.domain())) continue;
      known = true;
      if (import.version() != needed.version()) result_.other_opset.insert(function.name());
    }
    if (!known) *model_.add_opset_import() = needed;
  }
}

}  // namespace

absl::StatusOr<InlinedFunctions> InlineFunctions(onnx::ModelProto& model) {
  if (model.functions().empty()) return InlinedFunctions();
  return Inliner(model).Run();
}

}  // namespace onnx_mem
