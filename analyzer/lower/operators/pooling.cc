// Pooling.
#include "analyzer/lower/operators/ops.h"

namespace onnx_mem {
namespace {

std::vector<int64_t> SpatialAxes(size_t rank) {
  std::vector<int64_t> axes;
  for (size_t axis = 2; axis < rank; ++axis) axes.push_back(static_cast<int64_t>(axis));
  return axes;
}

}  // namespace

void LowerPool(Site& s) {
  TensorIds outputs = {s.Out(0)};
  if (s.OutUsed(1)) outputs.push_back(s.Out(1));
  s.Emit(s.framework(), {s.Materialized(0)}, std::move(outputs),
         {{"kernel", s.IntList("kernel_shape")},
          {"stride", s.IntList("strides")},
          {"pad", s.IntList("pads")},
          {"return_indices", static_cast<int64_t>(s.OutUsed(1))}});
}

// adaptive_avg_pool2d(x, 1) runs mean over the spatial dimensions.
void LowerGlobalAveragePool(Site& s) {
  s.Emit("mean", {s.Materialized(0)}, {s.Out(0)}, {{"axes", SpatialAxes(s.InRank(0))}, {"keepdim", int64_t{1}}});
}

void LowerGlobalPool(Site& s) { s.Emit(s.framework(), {s.Materialized(0)}, {s.Out(0)}); }

void LowerMaxUnpool(Site& s) { s.Emit("max_unpool", {s.Materialized(0), s.Materialized(1)}, {s.Out(0)}); }

// torchvision's roi_align and roi_pool.
void LowerRoi(Site& s) { s.Emit(s.framework(), {s.Materialized(0), s.Materialized(1)}, {s.Out(0)}); }

}  // namespace onnx_mem
