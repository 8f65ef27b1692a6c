// Normalisations.
#include "absl/strings/match.h"
#include "analyzer/lower/operators/ops.h"

namespace onnx_mem {
namespace {

// True for names that torch's exporters give to constants and folded values, not to a module's own tensors.
bool IsInvented(const std::string& name) {
  return absl::StartsWith(name, "val_") || absl::StartsWith(name, "onnx::") || absl::StartsWith(name, "/");
}

// A scale or bias that the framework does not have (affine=False): exporters write constants of ones and zeros.
TensorId Affine(Site& s, size_t slot) {
  const TensorId stored = s.Stored(slot);
  if (stored.valid()) {
    const Tensor& tensor = s.draft().tensor(stored);
    return tensor.role == TensorRole::kConstant || IsInvented(tensor.name) ? TensorId() : stored;
  }
  if (!s.Has(slot) || s.Floats(slot)) return TensorId();
  return s.Materialized(slot);
}

TensorIds WithoutTail(TensorIds inputs) {
  while (!inputs.empty() && !inputs.back().valid()) inputs.pop_back();
  return inputs;
}

}  // namespace

// In a training run the operator normalises by the batch, whatever the file's training_mode says: exporters write the
// inference form. Every BatchNorm module counts batches in 8 bytes that no file shows. Without stored statistics it is
// F.batch_norm on something else than a module's input (weight standardisation): the file computes the statistics only
// because ONNX asks for them.
void LowerBatchNormalization(Site& s) {
  const bool is_module = s.Stored(3).valid();
  TensorIds inputs = {s.Materialized(0)};
  for (size_t slot = 1; slot <= 4; ++slot) {
    if (!is_module && slot >= 2) continue;
    const TensorId stored = s.Stored(slot);
    inputs.push_back(stored.valid() ? stored : s.Materialized(slot));
  }
  if (is_module && s.lowering().counters.insert(inputs[3]).second) s.lowering().hidden_buffer_bytes += 8;
  const bool by_batch = s.run().training || !is_module;
  s.Emit("batch_norm", std::move(inputs), {s.Out(0)}, {{"training", static_cast<int64_t>(by_batch)}});
}

void LowerInstanceNormalization(Site& s) {
  s.Emit("instance_norm", WithoutTail({s.Materialized(0), Affine(s, 1), Affine(s, 2)}), {s.Out(0)});
}

void LowerLayerNormalization(Site& s) {
  s.Emit("layer_norm", WithoutTail({s.Materialized(0), Affine(s, 1), Affine(s, 2)}), {s.Out(0)},
         {{"axis", s.Axis("axis", -1)}});
}

void LowerGroupNormalization(Site& s) {
  const int64_t groups = s.Int("num_groups", s.Int("groups", 1));
  s.Emit("group_norm", WithoutTail({s.Materialized(0), Affine(s, 1), Affine(s, 2)}), {s.Out(0)}, {{"groups", groups}});
}

void LowerRmsNormalization(Site& s) {
  s.Emit("rms_norm", WithoutTail({s.Materialized(0), Affine(s, 1)}), {s.Out(0)}, {{"axis", s.Axis("axis", -1)}});
}

void LowerLrn(Site& s) {
  s.Emit("local_response_norm", {s.Materialized(0)}, {s.Out(0)},
         {{"size", s.Int("size", 5)}, {"beta", s.Float("beta", 0.75)}});
}

void LowerLpNormalization(Site& s) {
  s.Emit("lp_normalize", {s.Materialized(0)}, {s.Out(0)}, {{"p", s.Int("p", 2)}, {"axis", s.Axis("axis", -1)}});
}

// (x - mean) / std over the axes, as operators.
void LowerMeanVarianceNormalization(Site& s) {
  const TensorId x = s.Materialized(0);
  Dims reduced = s.InShape(0).dims;
  std::vector<int64_t> axes = s.IntList("axes");
  if (axes.empty()) axes = {0, 2, 3};
  for (int64_t& axis : axes) {
    axis = Site::Normalize(axis, reduced.size());
    if (axis >= 0 && axis < static_cast<int64_t>(reduced.size())) reduced[static_cast<size_t>(axis)] = 1;
  }
  const Attributes over = {{"axes", axes}, {"keepdim", int64_t{1}}};
  const TensorId mean = s.EmitTemp("mean", {x}, reduced, s.OutType(), over);
  const TensorId centered = s.EmitTemp("sub", {x, mean}, s.OutShape().dims, s.OutType());
  const TensorId deviation = s.EmitTemp("std", {x}, reduced, s.OutType(), over);
  s.Emit("div", {centered, deviation}, {s.Out(0)});
}

}  // namespace onnx_mem
