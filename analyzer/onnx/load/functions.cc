#include "analyzer/onnx/load/functions.h"

#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/onnx/load/renaming.h"
#include "analyzer/run/limits.h"
#include "onnx/onnx_pb.h"

namespace onnx_mem {
namespace {

using NodeList = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

std::string Domain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

absl::Status BadFunction(const std::string& what) {
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kBadModel, what);
}

absl::Status TooLarge(const onnx::FunctionProto& function, const std::string& what) {
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kTooLarge,
                     absl::StrCat("inlining function '", function.name(), "' gives ", what),
                     {"why: a few functions that call one another can stand for more nodes than any memory holds",
                      "way out: inline the functions with the exporter, if the model is meant to be this large"});
}

// Nodes of a graph and its bodies.
int64_t CountStored(const NodeList& nodes) {
  int64_t count = nodes.size();
  for (const auto& node : nodes) {
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) count += CountStored(attribute.g().node());
      for (const auto& body : attribute.graphs()) count += CountStored(body.node());
    }
  }
  return count;
}

class Inliner {
 public:
  explicit Inliner(onnx::ModelProto& model) : model_(model), renamer_(model.graph()) {
    int64_t stored = CountStored(model.graph().node());
    for (const auto& function : model.functions()) stored += CountStored(function.node());
    nodes_left_ = limits::InlinedNodes(stored);
    bytes_left_ = limits::InlinedBytes(static_cast<int64_t>(model.ByteSizeLong()));
    for (const auto& import : model.opset_import()) opsets_.emplace(Domain(import.domain()), import.version());
    functions_.Swap(model.mutable_functions());
    for (const auto& function : functions_) {
      by_name_.emplace(std::make_tuple(Domain(function.domain()), function.name(), function.overload()), &function);
    }
  }

  absl::StatusOr<InlinedFunctions> Run() {
    RETURN_IF_ERROR(InlineIn(*model_.mutable_graph(), 0));
    return std::move(result_);
  }

 private:
  const onnx::FunctionProto* FunctionOf(const onnx::NodeProto& node) const {
    const auto it = by_name_.find(std::make_tuple(Domain(node.domain()), node.op_type(), node.overload()));
    return it == by_name_.end() ? nullptr : it->second;
  }
  absl::Status InlineIn(onnx::GraphProto& graph, int depth);
  absl::Status Append(onnx::NodeProto& node, NodeList& out, int depth);
  absl::Status Expand(const onnx::NodeProto& call, const onnx::FunctionProto& function, NodeList& out, int depth);
  ValueNames BindNames(const onnx::NodeProto& call, const onnx::FunctionProto& function, const std::string& prefix);
  void PassThrough(const onnx::NodeProto& call, const onnx::FunctionProto& function, NodeList& out);
  void ImportOpsets(const onnx::FunctionProto& function);

  onnx::ModelProto& model_;
  google::protobuf::RepeatedPtrField<onnx::FunctionProto> functions_;
  absl::flat_hash_map<std::tuple<std::string, std::string, std::string>, const onnx::FunctionProto*> by_name_;
  Renamer renamer_;
  InlinedFunctions result_;
  absl::flat_hash_map<std::string, int64_t> opsets_;
  absl::flat_hash_set<const onnx::FunctionProto*> imported_;
  int64_t nodes_left_ = 0, bytes_left_ = 0;  // that calls may still make
  int graphs_ = 0;                           // around what is being inlined
};

absl::Status Inliner::InlineIn(onnx::GraphProto& graph, int depth) {
  NodeList nodes(graph.GetArena());
  nodes.Swap(graph.mutable_node());
  if (++graphs_ > limits::kDeepestGraphs) {
    return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kTooLarge,
                       absl::StrCat("graph '", graph.name(), "' lies within more than ", limits::kDeepestGraphs,
                                    " others once functions are inlined"));
  }
  for (auto& node : nodes) RETURN_IF_ERROR(Append(node, *graph.mutable_node(), depth));
  --graphs_;
  return absl::OkStatus();
}

absl::Status Inliner::Append(onnx::NodeProto& node, NodeList& out, int depth) {
  if (const onnx::FunctionProto* function = FunctionOf(node)) return Expand(node, *function, out, depth + 1);
  for (auto& attribute : *node.mutable_attribute()) {
    if (attribute.has_g()) RETURN_IF_ERROR(InlineIn(*attribute.mutable_g(), depth));
    for (auto& body : *attribute.mutable_graphs()) RETURN_IF_ERROR(InlineIn(body, depth));
  }
  out.Add()->Swap(&node);
  return absl::OkStatus();
}

absl::Status Inliner::Expand(const onnx::NodeProto& call, const onnx::FunctionProto& function, NodeList& out,
                             int depth) {
  if (depth > limits::kDeepestCalls) {
    return BadFunction(absl::StrCat("function '", function.domain(), "::", function.name(), "' calls itself"));
  }
  if (call.input_size() > function.input_size() || call.output_size() > function.output_size()) {
    return BadFunction(absl::StrCat("node '", call.name(), "' has more inputs or outputs than the function '",
                                    function.name(), "' that it calls"));
  }
  ++result_.calls;
  ImportOpsets(function);
  const std::string prefix = absl::StrCat(renamer_.Fresh(call.name().empty() ? function.name() : call.name()), "/");
  ValueNames names = BindNames(call, function, prefix);
  AttributesByName attributes;
  for (const auto& attribute : function.attribute_proto()) attributes[attribute.name()] = &attribute;
  for (const auto& attribute : call.attribute()) attributes[attribute.name()] = &attribute;
  for (const auto& inner : function.node()) {
    bytes_left_ -= static_cast<int64_t>(inner.ByteSizeLong() + prefix.size());
    if (--nodes_left_ < 0) return TooLarge(function, "more nodes than any model of its size");
    if (bytes_left_ < 0) return TooLarge(function, "more bytes than any model of its size");
    onnx::NodeProto node = inner;
    node.set_name(absl::StrCat(prefix, inner.name().empty() ? inner.op_type() : inner.name()));
    renamer_.Rename(node, names, attributes);
    absl::flat_hash_set<std::string_view> known;
    for (const auto& entry : inner.metadata_props()) known.insert(entry.key());
    for (const auto& entry : call.metadata_props()) {
      if (known.contains(entry.key())) continue;
      *node.add_metadata_props() = entry;
      bytes_left_ -= static_cast<int64_t>(entry.ByteSizeLong());
    }
    RETURN_IF_ERROR(Append(node, out, depth));
  }
  PassThrough(call, function, out);
  return absl::OkStatus();
}

// Formal and inner names -> names in the graph. An output that the call leaves out is named like an inner value.
ValueNames Inliner::BindNames(const onnx::NodeProto& call, const onnx::FunctionProto& function,
                              const std::string& prefix) {
  ValueNames names;
  for (int i = 0; i < function.input_size(); ++i) names[function.input(i)] = i < call.input_size() ? call.input(i) : "";
  for (int i = 0; i < function.output_size(); ++i) {
    if (i < call.output_size() && !call.output(i).empty()) names.emplace(function.output(i), call.output(i));
  }
  for (const auto& node : function.node()) {
    for (const std::string& output : node.output()) {
      if (output.empty() || names.contains(output)) continue;
      bytes_left_ -= static_cast<int64_t>(prefix.size() + output.size());
      if (bytes_left_ < 0) return names;  // Expand says so
      names[output] = renamer_.Fresh(prefix + output);
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

void Inliner::ImportOpsets(const onnx::FunctionProto& function) {
  if (!imported_.insert(&function).second) return;
  for (const auto& needed : function.opset_import()) {
    const auto [import, added] = opsets_.emplace(Domain(needed.domain()), needed.version());
    if (added) *model_.add_opset_import() = needed;
    if (import->second != needed.version()) result_.other_opset.insert(function.name());
  }
}

}  // namespace

absl::StatusOr<InlinedFunctions> InlineFunctions(onnx::ModelProto& model) {
  if (model.functions().empty()) return InlinedFunctions();
  return Inliner(model).Run();
}

}  // namespace onnx_mem
