// Convolutions: x and the weight are saved whoever needs a gradient; one backward operator makes dx, dW and db
// together. All of them are channels-last when x or the weight is. Sources: tools/autograd/derivatives.yaml
// (convolution), aten/src/ATen/native/Convolution.cpp (determine_backend_memory_format), torch/utils/flop_counter.py
// (conv_flop_count, conv_backward_flop).
#include <algorithm>
#include <array>
#include <limits>

#include "analyzer/eager/operators/families.h"
#include "analyzer/eager/views/layout.h"

namespace onnx_mem::eager {
namespace {

int64_t SpatialSize(const Dims& dims) {
  int64_t size = 1;
  for (size_t i = 2; i < dims.size(); ++i) size *= dims[i];
  return size;
}

struct Convolution {
  Dims x, weight, out;
  bool channels_last;
  bool transposed;
  WorkspaceBound workspace;

  // Every element of the smaller image meets every element of the weight, for each sample.
  int64_t ForwardFlops() const { return Saturated({2, SpatialSize(transposed ? x : out), NumElements(weight), x[0]}); }
  int64_t InputGradFlops() const { return ForwardFlops(); }
  int64_t WeightGradFlops() const {
    const int64_t positions = SpatialSize(transposed ? x : out);
    return Saturated({2, SpatialSize(weight), positions, x[0], x[1], out[1]});
  }
};

int64_t FlopSum(int64_t a, int64_t b) { return a > std::numeric_limits<int64_t>::max() - b ? std::max(a, b) : a + b; }

void ConvolutionBackward(Backward& b, const Convolution& conv, int64_t bias_size) {
  const DType dtype = b.grad()->dtype;
  const int64_t flops = FlopSum(b.needs(0) ? conv.InputGradFlops() : 0, b.needs(1) ? conv.WeightGradFlops() : 0);
  b.m.BeginStep("convolution_backward", flops);
  b.m.recorder().AllowTf32();
  b.m.recorder().MayTake(conv.workspace);
  if (b.needs(0)) b.result(0, b.m.Allocate(conv.x, dtype, ImageStrides(conv.x, conv.channels_last)));
  if (b.needs(1)) b.result(1, b.m.Allocate(conv.weight, dtype, ImageStrides(conv.weight, conv.channels_last)));
  if (b.needs(2)) b.result(2, b.m.Allocate(Dims{bias_size}, dtype));
}

// Neither strided nor dilated.
bool IsDense(const FrameworkNode& node) {
  const auto are_ones = [](const std::vector<int64_t>& steps) {
    return std::all_of(steps.begin(), steps.end(), [](int64_t step) { return step == 1; });
  };
  return are_ones(IntsAttribute(node, "stride")) && are_ones(IntsAttribute(node, "dilation"));
}

// Inputs: x, weight, bias.
void EnactConvolution(Machine& m, const Call& call, Outputs& out) {
  const TensorRef bias = m.AutocastLow(call.input(2));
  const TensorRef weight = m.AutocastLow(call.input(1));
  const TensorRef x = m.AutocastLow(call.input(0));
  const bool channels_last = SuggestsChannelsLast(*x) || SuggestsChannelsLast(*weight);
  const bool transposed = call.node.op == "conv_transpose";
  const Dims out_dims = call.output_dims();
  const ConvolutionSizes sizes{transposed ? out_dims : x->dims,
                               transposed ? x->dims : out_dims,
                               weight->dims,
                               x->dtype,
                               IntAttribute(call.node, "group", 1),
                               IsDense(call.node),
                               channels_last};
  const Convolution conv{x->dims, weight->dims, out_dims, channels_last, transposed, ConvolutionWorkspace(sizes)};
  NodeRef node = m.MakeNode("ConvolutionBackward0", {x, weight, bias});
  node.Save(x);
  node.Save(weight);
  out[0] = m.New("convolution", conv.out, x->dtype, ImageStrides(conv.out, channels_last), conv.ForwardFlops());
  m.recorder().AllowTf32();
  m.recorder().MayTake(conv.workspace);
  node.Output(out[0]);
  node.Formula([conv](Backward& b) { ConvolutionBackward(b, conv, conv.out[1]); });
}

}  // namespace

namespace {

bool AreOfOneRank(const CallShape& call) { return call.rank(0) == call.rank(1) && call.rank(0) == call.output_rank(); }

}  // namespace

std::span<const OpRow> ConvolutionOps() {
  static constexpr auto kRows = std::to_array<OpRow>({
      {"conv", EnactConvolution, 2, 3, AreOfOneRank},
      {"conv_transpose", EnactConvolution, 2, 3, AreOfOneRank},
  });
  return kRows;
}

}  // namespace onnx_mem::eager
