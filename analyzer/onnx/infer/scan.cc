// Scan: the body once, for one slice of each scanned input. Version 8 has a batch axis in front of everything and an
// optional first input with the lengths of the sequences; later versions choose the axes by attributes.
#include <utility>

#include "analyzer/onnx/infer/body.h"

namespace onnx_mem {
namespace {

// Axes of the scanned inputs or outputs, 0 where the attribute does not say.
std::vector<int64_t> AxesOf(const onnx::NodeProto& node, std::string_view attribute, size_t count) {
  std::vector<int64_t> axes(count, 0);
  for (const onnx::AttributeProto& candidate : node.attribute()) {
    if (candidate.name() != attribute) continue;
    for (size_t i = 0; i < count && static_cast<int>(i) < candidate.ints_size(); ++i) {
      axes[i] = candidate.ints(static_cast<int>(i));
    }
  }
  return axes;
}

class ScanInference {
 public:
  ScanInference(InferencePass& pass, NodeSite& site)
      : pass_(pass), site_(site), body_(FindBody(site.node, "body")), batched_(site.op.schema->since_version() < 9) {}

  absl::Status Run() {
    int64_t scanned = 0;
    for (const onnx::AttributeProto& attribute : site_.node.attribute()) {
      if (attribute.name() == "num_scan_inputs") scanned = attribute.i();
    }
    const size_t first = batched_ ? 1 : 0;
    const auto total = static_cast<int64_t>(site_.inputs.size() - std::min(first, site_.inputs.size()));
    if (body_.graph == nullptr || scanned < 1 || scanned > total) return absl::OkStatus();
    const auto states = static_cast<size_t>(total - scanned);
    std::vector<ScopeValue> inputs;
    const std::vector<int64_t> axes = AxesOf(site_.node, "scan_input_axes", static_cast<size_t>(scanned));
    for (size_t i = 0; i < static_cast<size_t>(total); ++i) {
      ScopeValue unknown;
      const ScopeValue& input = site_.inputs[first + i] != nullptr ? *site_.inputs[first + i] : unknown;
      inputs.push_back(i < states ? Without(input, {}) : Without(input, axes[i - states]));
    }
    const std::vector<ScopeValue> initial(inputs.begin(), inputs.begin() + static_cast<int64_t>(states));
    auto outputs = RunBody(pass_, site_.scope, *body_.graph, std::move(inputs), site_.bodies[body_.index]);
    if (!outputs.ok()) return outputs.status();
    Bind(initial, *outputs);
    site_.fact.trip_count = length_;
    return absl::OkStatus();
  }

 private:
  // The value as the body sees it: without the batch axis, without the scanned `axis`, contents unknown.
  ScopeValue Without(const ScopeValue& value, std::optional<int64_t> axis) {
    ScopeValue slice;
    slice.upper_bound = value.upper_bound;
    slice.type = value.type;
    if (value.type == nullptr || !value.type->has_tensor_type()) return slice;
    Shape shape = ShapeOfType(value.type);
    if (batched_ && shape.rank() > 0) {
      batch_ = std::max(batch_, shape.dims[0]);
      shape.dims.erase(shape.dims.begin());
    }
    if (axis) {
      std::optional<size_t> at = fold::NormalAxis(*axis, shape.rank());
      if (!at) {
        shape = Shape();
      } else {
        length_ = std::max(length_, shape.dims[*at]);
        shape.dims.erase(shape.dims.begin() + static_cast<int64_t>(*at));
      }
    }
    slice.type = MakeType(value.type->tensor_type().elem_type(), shape, pass_.arena());
    return slice;
  }

  ScopeValue With(const ScopeValue& value, std::optional<int64_t> axis) {
    ScopeValue whole;
    whole.upper_bound = value.upper_bound;
    if (value.type == nullptr || !value.type->has_tensor_type()) return whole;
    Shape shape = ShapeOfType(value.type);
    if (axis && shape.has_rank) {
      std::optional<size_t> at = fold::NormalAxis(*axis, shape.rank() + 1);
      if (at) {
        shape.dims.insert(shape.dims.begin() + static_cast<int64_t>(*at), length_);
      } else {
        shape = Shape();
      }
    }
    if (batched_ && shape.has_rank) shape.dims.insert(shape.dims.begin(), batch_);
    whole.type = MakeType(value.type->tensor_type().elem_type(), shape, pass_.arena());
    return whole;
  }

  void Bind(std::vector<ScopeValue> initial, std::vector<ScopeValue>& outputs) {
    const auto count = static_cast<size_t>(site_.node.output_size());
    const std::vector<int64_t> axes = AxesOf(site_.node, "scan_output_axes", count);
    for (size_t i = 0; i < std::min(count, outputs.size()); ++i) {
      ScopeValue value;
      if (i < initial.size()) {
        bool weaker = false;
        value = With(Agree(initial[i], outputs[i], pass_, weaker), {});
      } else {
        value = With(outputs[i], axes[i - initial.size()]);
      }
      site_.scope.Set(site_.node.output(static_cast<int>(i)), std::move(value));
    }
  }

  InferencePass& pass_;
  NodeSite& site_;
  const Body body_;
  const bool batched_;
  int64_t batch_ = kUnknownDim;
  int64_t length_ = kUnknownDim;  // slices per scanned input
};

}  // namespace

absl::Status InferScan(InferencePass& pass, NodeSite& site) { return ScanInference(pass, site).Run(); }

}  // namespace onnx_mem
