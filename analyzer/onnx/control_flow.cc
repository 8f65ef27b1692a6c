#include "analyzer/onnx/control_flow.h"

#include <algorithm>
#include <optional>

#include "onnx/defs/shape_inference.h"

namespace onnx_mem {
namespace {

constexpr int kMaxRounds = 6;      // of a Loop's body until its carried values settle
constexpr int kMaxSettlingDepth = 4;  // bodies nested deeper are inferred once, with carried shapes unknown

// What two values have in common, and whether that is less than the first one.
struct Agreement {
  Value value;
  bool weaker = false;
};

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
  weaker = true;
  if (b == nullptr) return nullptr;
  auto* common = google::protobuf::Arena::CreateMessage<onnx::TypeProto>(&pass.arena());
  *common = *a;
  try {
    onnx::UnionTypeInfo(*b, *common);
  } catch (const std::exception&) {  // a tensor here, a sequence there
    return nullptr;
  }
  if (common->SerializeAsString() == a->SerializeAsString()) weaker = false;
  return common;
}

Agreement Agree(Value& a, Value& b, InferencePass& pass) {
  Agreement result;
  result.value.type = CommonType(a.type, b.type, pass, result.weaker);
  result.value.upper_bound = a.upper_bound || b.upper_bound;
  if (b.upper_bound && !a.upper_bound) result.weaker = true;
  if (b.contents_are_bounds && !a.contents_are_bounds) result.weaker = true;
  const Literal* contents = ContentsOf(a);
  if (contents == nullptr) return result;
  const Literal* other = ContentsOf(b);
  if (other != nullptr && (contents == other || *contents == *other)) {
    result.value.literal = a.literal;
    result.value.partial = a.partial;
    result.value.contents_are_bounds = a.contents_are_bounds || b.contents_are_bounds;
  } else {
    result.weaker = true;
  }
  return result;
}

const onnx::GraphProto* BodyNamed(const onnx::NodeProto& node, std::string_view name, size_t& index) {
  index = 0;
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (!attribute.has_g()) continue;
    if (attribute.name() == name) return &attribute.g();
    ++index;
  }
  return nullptr;
}

// A boolean that is known to the last bit.
std::optional<bool> KnownBool(Value* value) {
  const Literal* contents = value != nullptr ? ContentsOf(*value) : nullptr;
  if (contents == nullptr || contents->ints() == nullptr || contents->ints()->size() != 1) return std::nullopt;
  if (value->partial || value->contents_are_bounds) return std::nullopt;
  return contents->ints()->front() != 0;
}

std::optional<int64_t> KnownInt(Value* value) {
  const Literal* contents = value != nullptr ? ContentsOf(*value) : nullptr;
  if (contents == nullptr || contents->ints() == nullptr || contents->ints()->size() != 1) return std::nullopt;
  if (value->partial || value->contents_are_bounds) return std::nullopt;
  return contents->ints()->front();
}

// Copies of a body's outputs after it was inferred.
std::vector<Value> OutputsOf(const onnx::GraphProto& body, Scope& scope) {
  std::vector<Value> outputs;
  for (const onnx::ValueInfoProto& output : body.output()) {
    const Value* value = scope.Find(output.name());
    outputs.push_back(value != nullptr ? *value : Value());
  }
  return outputs;
}

}  // namespace

absl::Status InferIf(InferencePass& pass, InferencePass::Site& site) {
  const std::optional<bool> condition = KnownBool(site.inputs.empty() ? nullptr : site.inputs[0]);
  std::vector<std::vector<Value>> results;
  absl::Status failure;
  for (std::string_view name : {"then_branch", "else_branch"}) {
    size_t index = 0;
    const onnx::GraphProto* body = BodyNamed(site.node, name, index);
    if (body == nullptr) continue;
    const bool taken = condition && *condition == (name == "then_branch");
    if (taken) site.fact.taken_body = static_cast<int64_t>(index);
    Scope scope(&site.scope);
    InferredGraph facts;
    absl::Status status = pass.InferGraph(*body, scope, facts);
    if (!status.ok()) {
      // A branch that never runs may not fit; with an unknown condition the fitting one is what can run.
      if (taken) return status;
      failure = status;
      continue;
    }
    pass.ReportValues(scope, facts);
    site.bodies[index] = std::move(facts);
    if (condition && !taken) continue;
    results.push_back(OutputsOf(*body, scope));
  }
  if (results.empty()) return failure;
  for (int i = 0; i < site.node.output_size(); ++i) {
    const auto at = static_cast<size_t>(i);
    Value value = at < results[0].size() ? results[0][at] : Value();
    for (size_t other = 1; other < results.size(); ++other) {
      Value missing;
      value = Agree(value, at < results[other].size() ? results[other][at] : missing, pass).value;
    }
    site.scope.Set(site.node.output(i), std::move(value));
  }
  return absl::OkStatus();
}

namespace {

// State of a Loop: the values entering an iteration.
struct LoopState {
  Value condition;
  std::vector<Value> carried;
};

class LoopInference {
 public:
  LoopInference(InferencePass& pass, InferencePass::Site& site) : pass_(pass), site_(site) {}

  absl::Status Run() {
    body_ = BodyNamed(site_.node, "body", index_);
    if (body_ == nullptr || body_->output_size() == 0) return absl::OkStatus();
    has_condition_ = site_.inputs.size() > 1 && site_.inputs[1] != nullptr;
    const std::optional<int64_t> limit = site_.inputs.empty() ? std::nullopt : KnownInt(site_.inputs[0]);
    LoopState state = InitialState();
    const std::vector<Value> initial = state.carried;
    const std::optional<bool> enters = has_condition_ ? KnownBool(site_.inputs[1]) : std::optional<bool>(true);
    if (absl::Status status = Settle(state, limit == 1); !status.ok()) {
      if (enters == false || limit == 0) return NothingRuns(initial);
      return status;
    }
    if (enters == false || (limit && *limit <= 0)) return NothingRuns(initial);
    std::optional<int64_t> trips;
    if (limit && *limit < (int64_t{1} << 31) && (!has_condition_ || KnownBool(&state.condition) == true)) trips = limit;
    if (limit == 1 && enters == true) trips = 1;
    BindOutputs(state, trips, enters == true && limit && *limit > 0);
    return absl::OkStatus();
  }

 private:
  LoopState InitialState() {
    LoopState state;
    if (has_condition_) {
      ContentsOf(*site_.inputs[1]);
      state.condition = *site_.inputs[1];
    } else {
      state.condition.type = MakeType(onnx::TensorProto::BOOL, Shape::Scalar(), pass_.arena());
    }
    for (size_t i = 2; i < site_.inputs.size(); ++i) {
      if (site_.inputs[i] != nullptr) ContentsOf(*site_.inputs[i]);
      state.carried.push_back(site_.inputs[i] != nullptr ? *site_.inputs[i] : Value());
    }
    return state;
  }

  // Infers the body for `state`; its outputs are in `outputs_`.
  absl::Status Iterate(const LoopState& state, bool single) {
    Scope scope(&site_.scope);
    if (body_->input_size() > 0) {
      Value iteration;
      iteration.type = MakeType(onnx::TensorProto::INT64, Shape::Scalar(), pass_.arena());
      if (single) iteration.literal = fold::Integers(DType::kInt64, {}, {0})[0];
      scope.Set(body_->input(0).name(), std::move(iteration));
    }
    if (body_->input_size() > 1) scope.Set(body_->input(1).name(), state.condition);
    for (size_t i = 0; i < state.carried.size() && static_cast<int>(i) + 2 < body_->input_size(); ++i) {
      scope.Set(body_->input(static_cast<int>(i) + 2).name(), state.carried[i]);
    }
    InferredGraph facts;
    if (absl::Status status = pass_.InferGraph(*body_, scope, facts); !status.ok()) return status;
    pass_.ReportValues(scope, facts);
    site_.bodies[index_] = std::move(facts);
    outputs_ = OutputsOf(*body_, scope);
    for (Value& output : outputs_) ContentsOf(output);
    return absl::OkStatus();
  }

  // Weakens `state` until an iteration leaves it as it is.
  absl::Status Settle(LoopState& state, bool single) {
    if (single) return Iterate(state, true);
    const int rounds = site_.scope.depth() < kMaxSettlingDepth ? kMaxRounds : 0;
    for (int round = 0; round < rounds; ++round) {
      if (absl::Status status = Iterate(state, false); !status.ok()) return status;
      bool weaker = false;
      if (has_condition_) Weaken(state.condition, outputs_[0], weaker);
      for (size_t i = 0; i < state.carried.size() && i + 1 < outputs_.size(); ++i) {
        Weaken(state.carried[i], outputs_[i + 1], weaker);
      }
      if (!weaker) return absl::OkStatus();
    }
    for (Value& value : state.carried) {
      const bool tensor = value.type != nullptr && value.type->has_tensor_type();
      Value vague;
      if (tensor) vague.type = MakeType(value.type->tensor_type().elem_type(), Shape(), pass_.arena());
      value = std::move(vague);
    }
    Value unknown_condition;
    unknown_condition.type = state.condition.type;
    state.condition = std::move(unknown_condition);
    return Iterate(state, false);
  }

  void Weaken(Value& value, Value& after, bool& weaker) {
    Agreement agreement = Agree(value, after, pass_);
    weaker = weaker || agreement.weaker;
    value = std::move(agreement.value);
  }

  // `surely_runs`: the carried outputs are the body's; otherwise they may also be the initial values.
  void BindOutputs(LoopState& state, std::optional<int64_t> trips, bool surely_runs) {
    site_.fact.trip_count = trips.value_or(-1);
    for (size_t i = 0; i < static_cast<size_t>(site_.node.output_size()); ++i) {
      Value value;
      if (i < state.carried.size()) {
        value = surely_runs && i + 1 < outputs_.size() ? outputs_[i + 1] : state.carried[i];
      } else if (i + 1 < outputs_.size()) {
        value = Stacked(outputs_[i + 1], trips.value_or(kUnknownDim));
      }
      site_.scope.Set(site_.node.output(static_cast<int>(i)), std::move(value));
    }
  }

  // A scan output: one slice per iteration along a new first axis.
  Value Stacked(const Value& slice, int64_t trips) {
    Value stacked;
    if (slice.type == nullptr || !slice.type->has_tensor_type()) return stacked;
    Shape shape = ShapeOfType(slice.type);
    if (shape.has_rank) shape.dims.insert(shape.dims.begin(), trips);
    stacked.type = MakeType(slice.type->tensor_type().elem_type(), shape, pass_.arena());
    stacked.upper_bound = slice.upper_bound;
    return stacked;
  }

  absl::Status NothingRuns(const std::vector<Value>& initial) {
    site_.fact.trip_count = 0;
    for (size_t i = 0; i < static_cast<size_t>(site_.node.output_size()); ++i) {
      Value value;
      if (i < initial.size()) {
        value = initial[i];
      } else if (i + 1 < outputs_.size()) {
        value = Stacked(outputs_[i + 1], 0);
      }
      site_.scope.Set(site_.node.output(static_cast<int>(i)), std::move(value));
    }
    return absl::OkStatus();
  }

  InferencePass& pass_;
  InferencePass::Site& site_;
  const onnx::GraphProto* body_ = nullptr;
  size_t index_ = 0;
  bool has_condition_ = false;
  std::vector<Value> outputs_;
};

}  // namespace

absl::Status InferLoop(InferencePass& pass, InferencePass::Site& site) { return LoopInference(pass, site).Run(); }

}  // namespace onnx_mem
