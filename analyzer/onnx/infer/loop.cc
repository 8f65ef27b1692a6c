// Loop: iteration by iteration where the file determines how often it runs and that is little work; otherwise the body
// once, with what every iteration has in common: carried dims and contents that change are unknown.
#include <utility>

#include "analyzer/onnx/infer/body.h"

namespace onnx_mem {
namespace {

constexpr int kMaxRounds = 6;                     // of a body until its carried values settle
constexpr int kMaxSettlingDepth = 4;              // bodies nested deeper start with unknown carried shapes
constexpr int64_t kMostTrips = int64_t{1} << 31;  // a "forever" of an exporter is no trip count

class LoopInference {
 public:
  LoopInference(InferencePass& pass, NodeSite& site) : pass_(pass), site_(site), body_(FindBody(site.node, "body")) {}

  absl::Status Run() {
    if (body_.graph == nullptr || body_.graph->output_size() == 0) return absl::OkStatus();
    limit_ = site_.inputs.empty() ? std::nullopt : KnownScalar(site_.inputs[0]);
    if (limit_ && *limit_ >= kMostTrips) limit_.reset();
    has_condition_ = site_.inputs.size() > 1 && site_.inputs[1] != nullptr;
    const std::optional<int64_t> enters = has_condition_ ? KnownScalar(site_.inputs[1]) : std::optional<int64_t>(1);
    SetInitialState();
    if (enters == 0 || (limit_ && *limit_ <= 0)) return RunNever();
    if (enters) {
      absl::StatusOr<bool> unrolled = Unroll();
      if (!unrolled.ok() || *unrolled) return unrolled.status();
      SetInitialState();
    }
    if (absl::Status status = Settle(); !status.ok()) return status;
    const bool counted = limit_ && (!has_condition_ || KnownScalar(&condition_) == 1);
    const bool surely_runs = enters && (!site_.inputs[0] || (limit_ && *limit_ > 0));
    for (size_t i = 0; surely_runs && i < carried_.size() && i + 1 < outputs_.size(); ++i)
      carried_[i] = outputs_[i + 1];
    std::vector<ScopeValue> slices(
        outputs_.begin() + static_cast<int64_t>(std::min(carried_.size() + 1, outputs_.size())), outputs_.end());
    // A condition may end the loop before its limit.
    Bind(slices, limit_.value_or(kUnknownDim), limit_ && !counted);
    site_.fact.trip_count = counted ? *limit_ : -1;
    return absl::OkStatus();
  }

 private:
  void SetInitialState() {
    carried_.clear();
    condition_ = ScopeValue();
    condition_.type = MakeType(onnx::TensorProto::BOOL, Shape::Scalar(), pass_.arena());
    if (has_condition_) {
      ContentsOf(*site_.inputs[1]);
      condition_ = *site_.inputs[1];
    }
    for (size_t i = 2; i < site_.inputs.size(); ++i) {
      if (site_.inputs[i] != nullptr) ContentsOf(*site_.inputs[i]);
      carried_.push_back(site_.inputs[i] != nullptr ? *site_.inputs[i] : ScopeValue());
    }
  }

  // The body with the current state; its outputs are in `outputs_`.
  absl::Status Iterate(std::optional<int64_t> iteration, InferredGraph& facts) {
    ScopeValue counter;
    counter.type = MakeType(onnx::TensorProto::INT64, Shape::Scalar(), pass_.arena());
    if (iteration) counter.literal = fold::Integers(DType::kInt64, {}, {*iteration})[0];
    std::vector<ScopeValue> inputs = {std::move(counter), condition_};
    inputs.insert(inputs.end(), carried_.begin(), carried_.end());
    absl::StatusOr<std::vector<ScopeValue>> outputs =
        RunBody(pass_, site_.scope, *body_.graph, std::move(inputs), facts);
    if (!outputs.ok()) return outputs.status();
    outputs_ = *std::move(outputs);
    return absl::OkStatus();
  }

  // Runs the loop as it would run. False: it cannot be known when it ends, or that is too much work.
  absl::StatusOr<bool> Unroll() {
    const int64_t nodes = CountNodes(*body_.graph) + 1;
    if (limit_ && (*limit_ > 4096 || !pass_.MayUnroll(*limit_ * nodes))) return false;
    if (!limit_ && !has_condition_) return false;
    std::vector<ScopeValue> slices;
    InferredGraph all;
    for (int64_t trip = 0; !limit_ || trip < *limit_; ++trip) {
      if (!pass_.Unroll(nodes)) return false;
      InferredGraph facts;
      if (absl::Status status = Iterate(trip, facts); !status.ok()) return status;
      if (outputs_.size() < carried_.size() + 1) return false;
      if (trip == 0) {
        all = std::move(facts);
        slices.assign(outputs_.begin() + 1 + static_cast<int64_t>(carried_.size()), outputs_.end());
      } else {
        CoverInto(facts, all);
        for (size_t i = 0; i < slices.size(); ++i)
          slices[i] = Cover(slices[i], outputs_[1 + carried_.size() + i], pass_);
      }
      for (size_t i = 0; i < carried_.size(); ++i) carried_[i] = outputs_[i + 1];
      condition_ = outputs_[0];
      site_.fact.trip_count = trip + 1;
      if (!has_condition_) continue;
      const std::optional<int64_t> continues = KnownScalar(&condition_);
      if (!continues) return false;
      if (*continues == 0) break;
    }
    site_.bodies[body_.index] = std::move(all);
    Bind(slices, site_.fact.trip_count, false);
    return true;
  }

  // Weakens the state until an iteration leaves it as it is.
  absl::Status Settle() {
    const int rounds = site_.scope.depth() < kMaxSettlingDepth && pass_.MaySettle() ? kMaxRounds : 0;
    for (int round = 0; round < rounds; ++round) {
      if (absl::Status status = Iterate(std::nullopt, site_.bodies[body_.index]); !status.ok()) return status;
      bool weaker = false;
      if (has_condition_) condition_ = Agree(condition_, outputs_[0], pass_, weaker);
      for (size_t i = 0; i < carried_.size() && i + 1 < outputs_.size(); ++i) {
        carried_[i] = Agree(carried_[i], outputs_[i + 1], pass_, weaker);
      }
      if (!weaker) return absl::OkStatus();
    }
    for (ScopeValue& value : carried_) {
      const bool tensor = value.type != nullptr && value.type->has_tensor_type();
      ScopeValue vague;
      if (tensor) vague.type = MakeType(value.type->tensor_type().elem_type(), Shape(), pass_.arena());
      value = std::move(vague);
    }
    ScopeValue unknown;
    unknown.type = condition_.type;
    condition_ = std::move(unknown);
    return Iterate(std::nullopt, site_.bodies[body_.index]);
  }

  // Carried outputs are the state; scan outputs are their slices along a new first axis of `trips`.
  void Bind(std::vector<ScopeValue>& slices, int64_t trips, bool at_most) {
    for (size_t i = 0; i < static_cast<size_t>(site_.node.output_size()); ++i) {
      ScopeValue value;
      if (i < carried_.size()) {
        value = carried_[i];
      } else if (i - carried_.size() < slices.size()) {
        value = Stacked(slices[i - carried_.size()], trips, at_most);
      }
      site_.scope.Set(site_.node.output(static_cast<int>(i)), std::move(value));
    }
  }

  ScopeValue Stacked(const ScopeValue& slice, int64_t trips, bool at_most) {
    ScopeValue stacked;
    if (slice.type == nullptr || !slice.type->has_tensor_type()) return stacked;
    Shape shape = ShapeOfType(slice.type);
    if (shape.has_rank) shape.dims.insert(shape.dims.begin(), trips);
    stacked.type = MakeType(slice.type->tensor_type().elem_type(), shape, pass_.arena());
    stacked.upper_bound = slice.upper_bound || at_most;
    return stacked;
  }

  // The body still tells the types of the scan outputs, of which there are no slices.
  absl::Status RunNever() {
    std::vector<ScopeValue> slices;
    if (Iterate(std::nullopt, site_.bodies[body_.index]).ok() && outputs_.size() > carried_.size()) {
      slices.assign(outputs_.begin() + 1 + static_cast<int64_t>(carried_.size()), outputs_.end());
    }
    site_.fact.trip_count = 0;
    Bind(slices, 0, false);
    return absl::OkStatus();
  }

  InferencePass& pass_;
  NodeSite& site_;
  const Body body_;
  std::optional<int64_t> limit_;
  bool has_condition_ = false;
  ScopeValue condition_;             // entering an iteration
  std::vector<ScopeValue> carried_;  // likewise
  std::vector<ScopeValue> outputs_;  // of the last run of the body
};

}  // namespace

absl::Status InferLoop(InferencePass& pass, NodeSite& site) { return LoopInference(pass, site).Run(); }

}  // namespace onnx_mem
