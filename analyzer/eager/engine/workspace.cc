#include "analyzer/eager/engine/workspace.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include "analyzer/eager/engine/tensor.h"
#include "analyzer/memory/made_by_a_step.h"

namespace onnx_mem {
namespace {

constexpr auto kPlainProducts = std::to_array<std::string_view>({"baddbmm", "bmm", "mm"});
constexpr std::string_view kBiasedProduct = "addmm";

using eager::DenseBytes;
using eager::Quotient;
using eager::Saturated;

int64_t Sum(std::initializer_list<int64_t> parts) {
  int64_t sum = 0;
  for (int64_t part : parts) {
    sum = part > std::numeric_limits<int64_t>::max() - sum ? std::numeric_limits<int64_t>::max() : sum + part;
  }
  return sum;
}

int64_t Elements(const Dims& dims) {
  int64_t elements = 1;
  for (int64_t dim : dims) elements = Saturated({elements, dim});
  return elements;
}

int64_t Positions(const Dims& dims) { return Elements(Dims(dims.begin() + 2, dims.end())); }

constexpr int64_t kFloatBytes = 4;  // of an element while it is transformed

// Winograd's tiles: `made` results a side, `read` values a side.
int64_t WinogradBytes(const ConvolutionSizes& sizes) {
  constexpr int64_t kMade = 4;
  if (sizes.groups != 1 || sizes.weight.size() != 4 || sizes.weight[2] != sizes.weight[3]) return 0;
  const int64_t kernel = sizes.weight[2];
  if (kernel != 3 && kernel != 5) return 0;
  const int64_t read = (kMade + kernel - 1) * (kMade + kernel - 1);
  const auto tiles = [&](const Dims& dims) {
    return Saturated({dims[0], dims[1], (sizes.small[2] + kMade - 1) / kMade, (sizes.small[3] + kMade - 1) / kMade});
  };
  const int64_t filters = Saturated({sizes.weight[0], sizes.weight[1]});
  return Saturated({Sum({tiles(sizes.large), tiles(sizes.small), filters}), read, kFloatBytes});
}

// Spectra of real tiles of 32x32: 32x17 complex numbers each.
int64_t SpectraBytes(const ConvolutionSizes& sizes) {
  constexpr int64_t kSide = 32;
  constexpr int64_t kTileBytes = kSide * (kSide / 2 + 1) * 2 * kFloatBytes;
  if (sizes.weight.size() != 4) return 0;
  const int64_t height = sizes.weight[2], width = sizes.weight[3];
  if (std::max(height, width) > kSide || std::max(height, width) <= 1) return 0;
  const int64_t down = kSide - height + 1, across = kSide - width + 1;
  const auto tiles = [&](const Dims& dims) {
    return Saturated(
        {dims[0], dims[1], Quotient(sizes.small[2] + down - 1, down), Quotient(sizes.small[3] + across - 1, across)});
  };
  const int64_t filters = Saturated({sizes.weight[0], sizes.weight[1]});
  return Saturated({Sum({tiles(sizes.large), tiles(sizes.small), filters}), kTileBytes});
}

// A number for each image and channel, or group.
int64_t PerImage(const GroupNormKernel& norm, int64_t parts) {
  const int64_t width = IsHalf(norm.dtype) ? kFloatBytes : RowOf(norm.dtype).bits / 8;
  return Saturated({norm.dims[0], parts, width});
}

// A kernel of their own, which folds nothing into coefficients of channels.
bool HasOnePosition(const GroupNormKernel& norm) { return Positions(norm.dims) == 1; }

}  // namespace

std::vector<int64_t> ForwardTakes(const GroupNormKernel& norm) {
  std::vector<int64_t> takes;
  if (norm.dims.size() < 2) return takes;
  if (IsHalf(norm.dtype)) takes.assign(2, PerImage(norm, norm.groups));
  const bool affine = norm.weight || norm.bias;
  if (affine && !HasOnePosition(norm)) takes.insert(takes.end(), 2, PerImage(norm, norm.dims[1]));
  return takes;
}

std::vector<int64_t> BackwardTakes(const GroupNormKernel& norm, bool of_input) {
  std::vector<int64_t> takes;
  if (norm.dims.size() < 2) return takes;
  if (!HasOnePosition(norm)) takes.assign(2, PerImage(norm, norm.dims[1]));
  if (!of_input) return takes;
  takes.insert(takes.end(), 2, PerImage(norm, norm.groups));
  if (!HasOnePosition(norm) && norm.weight) takes.push_back(PerImage(norm, norm.dims[1]));
  return takes;
}

std::vector<int64_t> ForwardTakes(const CtcKernel& ctc) {
  if (ctc.log_alpha.size() != 3) return {};
  return std::vector<int64_t>(3, DenseBytes({ctc.log_alpha[0]}, DType::kInt64));
}

std::vector<int64_t> BackwardTakes(const CtcKernel& ctc) {
  std::vector<int64_t> takes = ForwardTakes(ctc);
  if (takes.empty() || ctc.log_probabilities.size() != 3) return takes;
  const int64_t steps = ctc.log_probabilities[0], batch = ctc.log_probabilities[1], labels = ctc.log_probabilities[2];
  const bool is_large = Sum({Saturated({2, steps}), Saturated({24, batch}) / 10, Saturated({2, labels}) / 10}) > 450;
  if (!is_large) return takes;
  // Sums at the blanks, and logsumexp's: shifted powers, the largest and the result.
  const int64_t at_blanks = DenseBytes({batch, steps, ctc.log_alpha[2] / 2 + 1}, ctc.dtype);
  const int64_t of_steps = DenseBytes({batch, steps, 1}, ctc.dtype);
  const std::vector<int64_t> sums = {at_blanks, at_blanks, of_steps, of_steps};
  const int64_t chosen = ctc.zero_infinity ? DenseBytes(ctc.log_probabilities, ctc.dtype) : 0;
  if (chosen > Sum({at_blanks, at_blanks, of_steps, of_steps})) {
    takes.push_back(chosen);
  } else {
    takes.insert(takes.end(), sums.begin(), sums.end());
  }
  return takes;
}

Product ProductOf(const Step& step) {
  if (step.op == kBiasedProduct) return Product::kBiased;
  const bool plain = std::find(kPlainProducts.begin(), kPlainProducts.end(), step.op) != kPlainProducts.end();
  return plain ? Product::kPlain : Product::kNone;
}

int64_t MatmulHandles(const MemoryProgram& program) {
  bool forward = false, backward = false;
  for (const Step& step : program.steps) {
    if (ProductOf(step) != Product::kNone) (step.phase == Phase::kBackward ? backward : forward) = true;
  }
  return int64_t{forward} + int64_t{backward};
}

int64_t LargestPatchBytes(const MemoryProgram& program) {
  int64_t largest = 0;
  for (const Buffer& buffer : program.buffers) {
    if (!buffer.begin.valid() || !program.steps.contains(buffer.begin)) continue;
    const Step& step = program.steps[buffer.begin];
    if (step.op != "convolution" || step.flops <= 0 || buffer.dims.size() < 3 || !MadeByAStep(buffer)) continue;
    // flops = 2 x images x output channels x positions x (input channels x kernel): a patch matrix holds the last two.
    const int64_t results = buffer.dims[0] * buffer.dims[1];
    largest = std::max(largest, eager::Quotient(step.flops / 2, results) * RowOf(buffer.dtype).bits / 8);
  }
  return largest;
}

WorkspaceBound ConvolutionWorkspace(const ConvolutionSizes& sizes) {
  const size_t rank = sizes.weight.size();
  if (rank < 3 || sizes.large.size() != rank || sizes.small.size() != rank || sizes.groups < 1) return {};
  const int64_t element_bytes = std::max<int64_t>(1, RowOf(sizes.dtype).bits / 8);
  const int64_t all = Sum({Elements(sizes.large), Elements(sizes.small), Elements(sizes.weight)});
  const int64_t copies = sizes.channels_last ? 0 : Saturated({all, element_bytes});
  const int64_t patches = Saturated({sizes.weight[1], Positions(sizes.weight), Positions(sizes.small), element_bytes});
  WorkspaceBound bound;
  bound.chosen_bytes = std::max(copies, patches);
  if (sizes.dense) bound.chosen_bytes = std::max(bound.chosen_bytes, WinogradBytes(sizes));
  bound.tried_bytes = std::max(bound.chosen_bytes, sizes.dense ? SpectraBytes(sizes) : 0);
  return bound;
}

}  // namespace onnx_mem
