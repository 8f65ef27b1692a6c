#include "analyzer/onnx/build/traced_batch.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>
#include <vector>

#include "analyzer/onnx/infer/shapes.h"
#include "onnx/onnx_pb.h"

namespace onnx_mem {
namespace {

// Of example inputs, the likeliest first. A batch of 1 comes last: broadcasting lets it pass where another was traced.
constexpr auto kExampleBatches = std::to_array<int64_t>({2, 4, 8, 3, 16, 5, 6, 7, 10, 12, 32, 64, 128, 1});

// What differs between the shapes that a free batch gives; empty where the ranks do.
std::vector<DimChange> Differences(const BoundInputs& from, const BoundInputs& to) {
  std::vector<DimChange> changes;
  for (const auto& [name, shape] : to.shapes) {
    const auto before = from.shapes.find(name);
    if (before == from.shapes.end() || before->second.rank() != shape.rank()) return {};
    for (size_t i = 0; i < shape.rank(); ++i) {
      if (before->second.dims[i] == shape.dims[i]) continue;
      changes.push_back({name, static_cast<int>(i), before->second.dims[i], shape.dims[i]});
    }
  }
  std::sort(changes.begin(), changes.end(),
            [](const auto& a, const auto& b) { return std::tie(a.dim, a.input) < std::tie(b.dim, b.input); });
  return changes;
}

}  // namespace

std::optional<BoundInputs> ChangesFromTracedBatch(const onnx::ModelProto& model, const Bindings& bindings,
                                                  BoundInputs bound) {
  for (int64_t batch : kExampleBatches) {
    Bindings traced = bindings;
    traced.batch = batch;
    const absl::StatusOr<BoundInputs> example = BindInputs(model.graph(), traced);
    if (!example.ok() || !example->changes.empty()) return std::nullopt;
    std::vector<DimChange> changes = Differences(*example, bound);
    if (changes.empty() || !InferShapes(model, {.input_shapes = &example->shapes}).ok()) continue;
    bound.changes = std::move(changes);
    bound.file_batch = batch;
    return bound;
  }
  return std::nullopt;
}

}  // namespace onnx_mem
