// Images resized, shuffled, unfolded and sampled. Sources: tools/autograd/derivatives.yaml,
// aten/src/ATen/native/cuda/UpSampleBilinear2d.cu, torch/_decomp/decompositions.py (_upsample_linear),
// aten/src/ATen/native/GridSampler.cpp, AffineGridGenerator.cpp.
#include <array>
#include <string>

#include "analyzer/eager/operators/families.h"
#include "analyzer/eager/views/layout.h"
#include "analyzer/eager/views/views.h"

namespace onnx_mem::eager {
namespace {

// The channels-last path of linear modes is taken from 16 channels on.
bool KeepsChannelsLast(const EagerTensor& t, bool linear) {
  return SuggestsChannelsLast(t) && (!linear || t.dims[1] >= 16);
}

void EnactUpsample(Machine& m, const Call& call, Outputs& out) {
  const TensorRef x = m.AutocastHigh(call.input(0));
  const bool linear = StringAttribute(call.node, "mode", "nearest") == "linear";
  NodeRef node = m.MakeNode("UpsampleBackward0", {x});
  const Dims& dims = call.output_dims();
  out[0] = m.New("upsample", dims, x->dtype, ImageStrides(dims, KeepsChannelsLast(*x, linear)));
  node.Output(out[0]);
  node.Formula([dims = x->dims, linear](Backward& b) {
    const Dims strides = ImageStrides(dims, KeepsChannelsLast(*b.grad(), linear));
    b.result(0, b.m.New("upsample_backward", dims, b.grad()->dtype, strides));
  });
}

struct MoveRule {
  std::string_view op;  // of the lowered node and of the forward
  std::string_view node;
  std::string_view inverse;  // of the backward
};

constexpr auto kMoves = std::to_array<MoveRule>({
    {"col2im", "Col2ImBackward0", "im2col"},
    {"im2col", "Im2ColBackward0", "col2im"},
    {"pixel_shuffle", "PixelShuffleBackward0", "pixel_unshuffle"},
    {"pixel_unshuffle", "PixelUnshuffleBackward0", "pixel_shuffle"},
});

// A contiguous result each way, nothing saved.
void EnactMove(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  const MoveRule* rule = kMoves.data();
  while (rule->op != call.node.op) ++rule;
  NodeRef node = m.MakeNode(rule->node, {x});
  out[0] = m.New(rule->op, call.output_dims(), x->dtype);
  node.Output(out[0]);
  node.Formula(
      [dims = x->dims, inverse = rule->inverse](Backward& b) { b.result(0, b.m.New(inverse, dims, b.grad()->dtype)); });
}

// Inputs: x, grid; both are saved, and both gradients are made.
void EnactGridSample(Machine& m, const Call& call, Outputs& out) {
  const TensorRef &x = call.input(0), &grid = call.input(1);
  NodeRef node = m.MakeNode("GridSampler2DBackward0", {x, grid});
  node.Save(x);
  node.Save(grid);
  out[0] = m.New("grid_sampler", call.output_dims(), x->dtype);
  node.Output(out[0]);
  node.Formula([x_dims = x->dims, grid_dims = grid->dims](Backward& b) {
    b.m.BeginStep("grid_sampler_backward");
    if (b.needs(0)) b.result(0, b.m.Allocate(x_dims, b.grad()->dtype));
    b.result(1, b.m.Allocate(grid_dims, b.grad()->dtype));
  });
}

// theta [N, 2, 3]: the base grid is made in backward again.
void EnactAffineGrid(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& theta = call.input(0);
  NodeRef node = m.MakeNode("AffineGridGeneratorBackward0", {theta});
  const Dims dims = call.output_dims();
  out[0] = m.New("affine_grid_generator", dims, theta->dtype);
  node.Output(out[0]);
  node.Formula([dims, theta_dims = theta->dims](Backward& b) {
    Dims base = dims;
    base.back() += 1;
    const TensorRef grid = b.m.New("empty", base, b.grad()->dtype);
    const TensorRef product =
        b.m.New("bmm", Dims{theta_dims[0], theta_dims[2], theta_dims[1]}, b.grad()->dtype,
                Saturated({2, NumElements(theta_dims), ElementsBetween(base, 1, base.size() - 1)}));
    b.result(0, Transpose(b.m, product, 1, 2));
  });
}

}  // namespace

namespace {

bool MapsImages(const CallShape& call) { return call.rank(0) == 3 && call.output_rank() >= 3 && (*call.output)[0] > 0; }

}  // namespace

std::span<const OpRow> ResampleOps() {
  static constexpr auto kRows = std::to_array<OpRow>({
      {"affine_grid", EnactAffineGrid, 1, 3, MapsImages},
      {"col2im", EnactMove},
      {"grid_sample", EnactGridSample, 2},
      {"im2col", EnactMove},
      {"pixel_shuffle", EnactMove},
      {"pixel_unshuffle", EnactMove},
      {"upsample", EnactUpsample},
  });
  return kRows;
}

}  // namespace onnx_mem::eager
