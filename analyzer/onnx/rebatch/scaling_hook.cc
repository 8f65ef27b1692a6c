#include "analyzer/onnx/rebatch/scaling_hook.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/onnx/read/tensor_literal.h"

namespace onnx_mem {
namespace {

int ElementTypeOf(const ScopeValue& value) { return value.type != nullptr ? value.type->tensor_type().elem_type() : 0; }

ScopeValue WithShape(const ScopeValue& value, const Dims& dims, google::protobuf::Arena& arena) {
  ScopeValue scaled;
  scaled.type = MakeType(ElementTypeOf(value), Shape(dims), arena);
  return scaled;
}

ScopeValue WithContents(const ScopeValue& value, std::vector<int64_t> contents, google::protobuf::Arena& arena) {
  const Shape shape = ShapeOfType(value.type);
  Literal literal{.dtype = DTypeOf(ElementTypeOf(value)), .dims = {}, .data = {}};
  if (!shape.has_rank || !shape.dims.empty()) literal.dims = {static_cast<int64_t>(contents.size())};
  literal.data = std::move(contents);
  ScopeValue replaced;
  replaced.type = MakeType(ElementTypeOf(value), Shape(literal.dims), arena);
  replaced.literal = std::make_shared<const Literal>(std::move(literal));
  return replaced;
}

}  // namespace

absl::Status Refusal(const std::string& why) { return absl::FailedPreconditionError(why); }

std::string DescribeNode(const onnx::GraphProto& graph, int node) {
  const onnx::NodeProto& proto = graph.node(node);
  if (!proto.name().empty()) return absl::StrCat(proto.op_type(), " '", proto.name(), "'");
  if (proto.output_size() > 0) return absl::StrCat("the ", proto.op_type(), " that makes '", proto.output(0), "'");
  return absl::StrCat(proto.op_type(), " (node #", node, ")");
}

const ValueFact* BaseOf(const InferredGraph& base, const std::string& name) {
  const auto it = base.values.find(name);
  return it == base.values.end() ? nullptr : &it->second;
}

std::optional<Dims> ScalingHook::ScaledDims(const std::string& name, const Traces& traces) const {
  const ValueFact* base = Base(name);
  if (base == nullptr || !base->shape.known()) return std::nullopt;
  return Scaled(base->shape.dims, traces, variables_, sizes_);
}

absl::Status ScalingHook::ScaleInScope(const std::string& name, const Traces& traces, ValueScope& scope) {
  const ScopeValue* value = scope.Find(name);
  const auto dims = ScaledDims(name, traces);
  if (value == nullptr || !dims) return Refusal(absl::StrCat("'", name, "' cannot be made to follow"));
  scope.Set(names_.emplace_back(name), WithShape(*value, *dims, *arena_));
  return absl::OkStatus();
}

absl::Status ScalingHook::ScaleContents(int node, const ContentsEdit& edit, NodeSite& site) {
  std::vector<int64_t> contents;
  for (size_t i = 0; i < edit.base.size(); ++i) {
    const auto element = Scaled(edit.base[i], edit.elements[i], variables_, sizes_);
    if (!element) {
      return Refusal(absl::StrCat(DescribeNode(graph_, node), " has the constant [", absl::StrJoin(edit.base, ", "),
                                  "], which cannot be written for another size"));
    }
    contents.push_back(*element);
  }
  ScopeValue*& operand = site.inputs[static_cast<size_t>(edit.input)];
  values_.push_back(WithContents(*operand, std::move(contents), *arena_));
  operand = &values_.back();
  return absl::OkStatus();
}

absl::Status ScalingHook::ScaleOperand(int node, int input, const Traces& traces, NodeSite& site) {
  const auto dims = ScaledDims(graph_.node(node).input(input), traces);
  if (!dims) return Refusal(absl::StrCat("an operand of ", DescribeNode(graph_, node), " cannot be made to follow"));
  ScopeValue*& operand = site.inputs[static_cast<size_t>(input)];
  values_.push_back(WithShape(*operand, *dims, *arena_));
  operand = &values_.back();
  return absl::OkStatus();
}

}  // namespace onnx_mem
