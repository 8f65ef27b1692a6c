// Operators that lay data out anew.
#include <algorithm>

#include "analyzer/lower/operators/ops.h"

namespace onnx_mem {

void LowerConcat(Site& s) {
  TensorIds inputs;
  for (size_t i = 0; i < s.num_inputs(); ++i) {
    if (const TensorId input = s.Materialized(i); input.valid()) inputs.push_back(input);
  }
  s.Emit("cat", std::move(inputs), {s.Out(0)},
         {{"axis", Site::Normalize(s.Int("axis", s.version() < 4 && s.version() > 0 ? 1 : 0), s.OutShape().rank())}});
}

// A constant pad of nothing is a clone; other modes return a copy too.
void LowerPad(Site& s) {
  std::vector<int64_t> pads = s.IntList("pads");
  if (pads.empty()) pads = s.IntList("paddings");
  if (s.Has(1)) pads = s.Ints(1).value_or(std::vector<int64_t>());
  s.Emit("pad", {s.Materialized(0)}, {s.Out(0)}, {{"pads", std::move(pads)}, {"mode", s.String("mode", "constant")}});
}

void LowerResize(Site& s) {
  s.Emit("upsample", {s.Materialized(0)}, {s.Out(0)}, {{"mode", s.String("mode", "nearest")}});
}

void LowerDepthToSpace(Site& s) {
  s.Emit(s.framework(), {s.Materialized(0)}, {s.Out(0)}, {{"block", s.Int("blocksize", 1)}});
}

// repeat() of ones still copies.
void LowerTile(Site& s) {
  const TensorId x = s.In(0);
  if (!x.valid()) {
    s.Emit("full", {}, {s.Out(0)});
    return;
  }
  s.Emit("repeat", {x}, {s.Out(0)}, {{"repeats", s.Ints(1).value_or(std::vector<int64_t>())}});
}

void LowerGrid(Site& s) {
  TensorIds inputs = {s.Materialized(0)};
  if (s.framework() == "grid_sample") inputs.push_back(s.Materialized(1));
  s.Emit(s.framework(), std::move(inputs), {s.Out(0)});
}

// CenterCropPad and caffe2's Crop: a view of the part that stays.
void LowerCrop(Site& s) {
  const Dims& from = s.InShape(0).dims;
  const Dims& to = s.OutShape().dims;
  std::vector<int64_t> axes, starts, ends, steps;
  for (size_t i = 0; i < std::min(from.size(), to.size()); ++i) {
    if (to[i] > from[i]) {
      s.Emit("pad", {s.Materialized(0)}, {s.Out(0)}, {{"mode", std::string("constant")}});
      return;
    }
    if (to[i] == from[i]) continue;
    axes.push_back(static_cast<int64_t>(i));
    starts.push_back((from[i] - to[i]) / 2);
    ends.push_back(starts.back() + to[i]);
    steps.push_back(1);
  }
  s.Emit("slice", {s.Materialized(0)}, {s.Out(0)},
         {{"axes", axes}, {"starts", starts}, {"ends", ends}, {"steps", steps}});
}

}  // namespace onnx_mem
