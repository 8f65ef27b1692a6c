#include "analyzer/onnx/infer/body.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "onnx/defs/shape_inference.h"

namespace onnx_mem {
namespace {

// The common part of two tensor shapes; `weaker` is set where it is less than `a`.
Shape CommonShape(const Shape& a, const Shape& b, bool& weaker) {
  if (!a.has_rank) return a;
  if (!b.has_rank || a.rank() != b.rank()) {
    weaker = true;
    return Shape();
  }
  Shape common = a;
  for (size_t i = 0; i < common.dims.size(); ++i) {
    if (common.dims[i] == b.dims[i] || common.dims[i] == kUnknownDim) continue;
    common.dims[i] = kUnknownDim;
    weaker = true;
  }
  return common;
}

const onnx::TypeProto* CommonType(const onnx::TypeProto* a, const onnx::TypeProto* b, InferencePass& pass,
                                  bool& weaker) {
  if (a == b || a == nullptr) return a;
  if (b != nullptr && a->has_tensor_type() && b->has_tensor_type()) {
    bool narrower = false;
    const Shape shape = CommonShape(ShapeOfType(a), ShapeOfType(b), narrower);
    if (!narrower) return a;
    weaker = true;
    return MakeType(a->tensor_type().elem_type(), shape, pass.arena());
  }
  if (b != nullptr && a->SerializeAsString() == b->SerializeAsString()) return a;
  if (b == nullptr) {
    weaker = true;
    return nullptr;
  }
  auto* common = google::protobuf::Arena::CreateMessage<onnx::TypeProto>(&pass.arena());
  *common = *a;
  try {
    onnx::UnionTypeInfo(*b, *common);
  } catch (const std::exception&) {  // a tensor here, a sequence there
    weaker = true;
    return nullptr;
  }
  weaker = weaker || common->SerializeAsString() != a->SerializeAsString();
  return common;
}

// The elementwise larger of two shapes of one rank; `bound` is set where they differ.
Shape LargerShape(const Shape& a, const Shape& b, bool& bound) {
  if (!a.has_rank || !b.has_rank || a.rank() != b.rank()) return Shape();
  Shape larger = a;
  for (size_t i = 0; i < a.rank(); ++i) {
    if (a.dims[i] == b.dims[i]) continue;
    larger.dims[i] = a.dims[i] < 0 || b.dims[i] < 0 ? kUnknownDim : std::max(a.dims[i], b.dims[i]);
    bound = true;
  }
  return larger;
}

}  // namespace

size_t NumBodies(const onnx::AttributeProto& attribute) {
  return (attribute.has_g() ? 1u : 0u) + static_cast<size_t>(attribute.graphs_size());
}

Body FindBody(const onnx::NodeProto& node, std::string_view attribute) {
  Body body;
  for (const onnx::AttributeProto& candidate : node.attribute()) {
    if (candidate.has_g() && candidate.name() == attribute) {
      body.graph = &candidate.g();
      return body;
    }
    body.index += NumBodies(candidate);
  }
  return body;
}

int64_t CountNodes(const onnx::GraphProto& graph) {
  int64_t count = graph.node_size();
  for (const onnx::NodeProto& node : graph.node()) {
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) count += CountNodes(attribute.g());
    }
  }
  return count;
}

absl::StatusOr<std::vector<ScopeValue>> RunBody(InferencePass& pass, ValueScope& outer, const onnx::GraphProto& body,
                                                std::vector<ScopeValue> inputs, InferredGraph& facts) {
  ValueScope scope(&outer);
  for (size_t i = 0; i < std::min(inputs.size(), static_cast<size_t>(body.input_size())); ++i) {
    scope.Set(body.input(static_cast<int>(i)).name(), std::move(inputs[i]));
  }
  facts = InferredGraph();
  if (absl::Status status = pass.InferGraph(body, scope, facts); !status.ok()) return status;
  pass.ReportValues(scope, facts);
  std::vector<ScopeValue> outputs;
  for (const onnx::ValueInfoProto& output : body.output()) {
    ScopeValue* value = scope.Find(output.name());
    if (value != nullptr) ContentsOf(*value);
    outputs.push_back(value != nullptr ? *value : ScopeValue());
  }
  return outputs;
}

ScopeValue Agree(ScopeValue& a, ScopeValue& b, InferencePass& pass, bool& weaker) {
  ScopeValue common;
  common.type = CommonType(a.type, b.type, pass, weaker);
  common.upper_bound = a.upper_bound || b.upper_bound;
  common.contents_are_bounds = a.contents_are_bounds || b.contents_are_bounds;
  weaker = weaker || (b.upper_bound && !a.upper_bound) || (b.contents_are_bounds && !a.contents_are_bounds);
  const Literal* contents = ContentsOf(a);
  if (contents == nullptr) return common;
  const Literal* other = ContentsOf(b);
  if (other != nullptr && (contents == other || *contents == *other)) {
    common.literal = a.literal;
    common.partial = a.partial;
  } else {
    weaker = true;
  }
  return common;
}

ScopeValue Cover(ScopeValue& a, ScopeValue& b, InferencePass& pass) {
  bool weaker = false;
  ScopeValue cover = Agree(a, b, pass, weaker);
  if (a.type == nullptr || b.type == nullptr || !a.type->has_tensor_type() || !b.type->has_tensor_type()) return cover;
  if (a.type->tensor_type().elem_type() != b.type->tensor_type().elem_type()) return cover;
  const Shape larger = LargerShape(ShapeOfType(a.type), ShapeOfType(b.type), cover.upper_bound);
  cover.type = MakeType(a.type->tensor_type().elem_type(), larger, pass.arena());
  return cover;
}

ValueFact Cover(const ValueFact& a, const ValueFact& b) {
  ValueFact cover;
  if (a.dtype == b.dtype) cover.dtype = a.dtype;
  cover.upper_bound = a.upper_bound || b.upper_bound;
  cover.shape = LargerShape(a.shape, b.shape, cover.upper_bound);
  if (a.value == b.value || (a.value != nullptr && b.value != nullptr && *a.value == *b.value)) cover.value = a.value;
  return cover;
}

void CoverInto(const InferredGraph& facts, InferredGraph& into) {
  for (const auto& [name, fact] : facts.values) {
    auto [found, added] = into.values.try_emplace(name, fact);
    if (!added) found->second = Cover(found->second, fact);
  }
  for (size_t i = 0; i < std::min(facts.nodes.size(), into.nodes.size()); ++i) {
    NodeFact& fact = into.nodes[i];
    fact.assumed = fact.assumed || facts.nodes[i].assumed;
    fact.trip_count = fact.trip_count < 0 || facts.nodes[i].trip_count < 0
                          ? -1
                          : std::max(fact.trip_count, facts.nodes[i].trip_count);
    if (fact.taken_body != facts.nodes[i].taken_body) fact.taken_body = -1;
  }
  for (size_t i = 0; i < std::min(facts.bodies.size(), into.bodies.size()); ++i) {
    if (into.bodies[i].size() < facts.bodies[i].size()) into.bodies[i].resize(facts.bodies[i].size());
    for (size_t k = 0; k < facts.bodies[i].size(); ++k) {
      // A branch that one run did not infer is known from the other.
      if (into.bodies[i][k].nodes.empty()) {
        into.bodies[i][k] = facts.bodies[i][k];
      } else {
        CoverInto(facts.bodies[i][k], into.bodies[i][k]);
      }
    }
  }
}

std::optional<int64_t> KnownScalar(ScopeValue* value) {
  const Literal* contents = value != nullptr ? ContentsOf(*value) : nullptr;
  if (contents == nullptr || contents->ints() == nullptr || contents->ints()->size() != 1) return std::nullopt;
  if (value->partial || value->contents_are_bounds) return std::nullopt;
  return contents->ints()->front();
}

}  // namespace onnx_mem
