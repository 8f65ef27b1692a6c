// torchvision's operators of detectors. None of them gives its boxes a gradient.
// Sources: torchvision/csrc/ops/autograd/roi_align_kernel.cpp, roi_pool_kernel.cpp, deform_conv2d_kernel.cpp.
#include <array>

#include "analyzer/eager/operators/families.h"

namespace onnx_mem::eager {
namespace {

// Inputs: features, boxes. Pooling also keeps which element was the largest.
void EnactRoi(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  const bool pools = call.node.op == "roi_pool";
  NodeRef node = m.MakeNode(pools ? "ROIPoolFunctionBackward" : "ROIAlignFunctionBackward", {x});
  out[0] = m.New(call.node.op, call.output_dims(), x->dtype);
  const TensorRef largest = pools ? m.Allocate(call.output_dims(), DType::kInt32) : nullptr;
  node.Save(call.input(1));
  node.Save(largest);
  node.Output(out[0]);
  node.Formula([dims = x->dims, pools](Backward& b) {
    b.result(0, b.m.New(pools ? "_roi_pool_backward" : "_roi_align_backward", dims, b.grad()->dtype));
  });
}

// Inputs: x, weight, offset, bias?, mask?; without a mask or a bias the framework makes empty ones. All gradients are
// made by one operator, wanted or not.
void EnactDeformConv(Machine& m, const Call& call, Outputs& out) {
  const TensorRef &x = call.input(0), &weight = call.input(1);
  NodeRef node = m.MakeNode("DeformConv2dFunctionBackward", call.inputs);
  const int64_t taps = ElementsFrom(weight->dims, 1);
  const int64_t flops = Saturated({2, NumElements(call.output_dims()), taps});
  out[0] = m.New("deform_conv2d", call.output_dims(), x->dtype, flops);
  for (const TensorRef& input : call.inputs) node.Save(input);
  node.Output(out[0]);
  std::vector<TensorMeta> metas;
  for (const TensorRef& input : call.inputs)
    metas.push_back(input ? TensorMeta{input->dims, input->dtype} : TensorMeta{});
  node.Formula([metas, flops](Backward& b) {
    b.m.BeginStep("_deform_conv2d_backward", Saturated({2, flops}));
    for (size_t i = 0; i < metas.size(); ++i) {
      if (!metas[i].dims.empty()) b.result(i, b.m.Allocate(metas[i].dims, metas[i].dtype));
    }
  });
}

}  // namespace

namespace {

bool HasKernels(const CallShape& call) { return call.rank(1) == 4 && (*call.inputs[1])[0] > 0; }

}  // namespace

std::span<const OpRow> DetectionOps() {
  static constexpr auto kRows = std::to_array<OpRow>({
      {"deform_conv", EnactDeformConv, 3, 4, HasKernels},
      {"roi_align", EnactRoi, 2, 4},
      {"roi_pool", EnactRoi, 2, 4},
  });
  return kRows;
}

}  // namespace onnx_mem::eager
