// Einsum: a letter has the size that its operands broadcast to. ONNX's own inference takes the first operand's, which
// is wrong where that is 1 and another operand has more (seen up to ONNX 1.23: einsumShapeInference of
// onnx/defs/math/utils.cc); torch.einsum and onnxruntime broadcast.
#include "analyzer/onnx/rules/einsum.h"

#include <algorithm>
#include <array>
#include <map>

#include "absl/strings/str_cat.h"
#include "analyzer/ops/einsum_equation.h"

namespace onnx_mem::rules {
namespace {

using fold::FoldCall;

constexpr char kDots = EinsumEquation::kDots;

// What the letters and the ellipsis stand for.
struct EinsumSizes {
  std::map<char, int64_t> letters;
  Shape dots;
  bool dots_known = true;  // false where an operand with an ellipsis has no rank
};

// Broadcasts `size` into `known`; false where they do not fit.
bool JoinSize(int64_t size, int64_t& known) {
  if (size == 1 || size == known) return true;
  if (known == 1 || known == kUnknownDim) {
    known = size;
    return true;
  }
  return size == kUnknownDim;
}

std::string JoinDots(const Shape& found, EinsumSizes& sizes) {
  for (size_t i = 1; i <= std::min(found.rank(), sizes.dots.rank()); ++i) {
    int64_t known = sizes.dots.dims[sizes.dots.rank() - i];
    const int64_t size = found.dims[found.rank() - i];
    if (!JoinSize(size, known)) return absl::StrCat("sizes of the ellipsis differ: ", known, " and ", size);
  }
  sizes.dots = Broadcast(sizes.dots, found);
  return {};
}

std::string JoinOperand(const std::string& labels, const Shape& shape, EinsumSizes& sizes) {
  const size_t at = labels.find(kDots);
  if (!shape.has_rank) {
    sizes.dots_known = sizes.dots_known && at == std::string::npos;
    return {};
  }
  const size_t letters = labels.size() - (at == std::string::npos ? 0 : 1);
  if (shape.rank() < letters || (at == std::string::npos && shape.rank() != letters)) {
    return absl::StrCat("the equation names ", letters, " of the ", shape.rank(), " dimensions of an operand");
  }
  const size_t dots = shape.rank() - letters;
  for (size_t i = 0, axis = 0; i < labels.size(); ++i) {
    if (labels[i] == kDots) {
      const auto from = shape.dims.begin() + static_cast<std::ptrdiff_t>(axis);
      std::string fault = JoinDots(Shape(Dims(from, from + static_cast<std::ptrdiff_t>(dots))), sizes);
      if (!fault.empty()) return fault;
      axis += dots;
      continue;
    }
    const int64_t size = shape.dims[axis++];
    int64_t& known = sizes.letters.try_emplace(labels[i], size).first->second;
    if (!JoinSize(size, known)) {
      return absl::StrCat("sizes of '", std::string(1, labels[i]), "' differ: ", known, " and ", size);
    }
  }
  return {};
}

std::string MeasureOperands(const FoldCall& call, const EinsumEquation& equation, EinsumSizes& sizes) {
  sizes.dots.has_rank = true;
  if (equation.operands.size() != call.num_inputs()) {
    return absl::StrCat("the equation names ", equation.operands.size(), " operands, the node has ", call.num_inputs());
  }
  for (size_t i = 0; i < equation.operands.size(); ++i) {
    std::string fault = JoinOperand(equation.operands[i], ShapeOf(call, i), sizes);
    if (!fault.empty()) return fault;
  }
  return {};
}

Results Einsum(const FoldCall& call) {
  const std::optional<EinsumEquation> equation = ParseEinsum(call.string_attribute("equation", ""));
  const Result unknown{TypeOf(call, 0), Shape()};
  EinsumSizes sizes;
  if (!equation || !MeasureOperands(call, *equation, sizes).empty()) return {unknown};
  Dims dims;
  for (char c : equation->output) {
    if (c != kDots) {
      const auto found = sizes.letters.find(c);
      dims.push_back(found != sizes.letters.end() ? found->second : kUnknownDim);
    } else if (sizes.dots_known) {
      dims.insert(dims.end(), sizes.dots.dims.begin(), sizes.dots.dims.end());
    } else {
      return {unknown};
    }
  }
  return {{TypeOf(call, 0), Shape(dims)}};
}

constexpr auto kEinsumRows = std::to_array<TypeRuleRow>({{"", "Einsum", Einsum}});

}  // namespace

std::string EinsumFault(const FoldCall& call) {
  const std::optional<EinsumEquation> equation = ParseEinsum(call.string_attribute("equation", ""));
  if (!equation) return "the equation is malformed";
  EinsumSizes sizes;
  std::string fault = MeasureOperands(call, *equation, sizes);
  for (size_t i = 0; fault.empty() && i < equation->output.size(); ++i) {
    const char c = equation->output[i];
    if (c == kDots) continue;
    const auto has = [c](const std::string& operand) { return operand.find(c) != std::string::npos; };
    if (std::none_of(equation->operands.begin(), equation->operands.end(), has)) {
      fault = absl::StrCat("no operand has '", std::string(1, c), "' of the output");
    } else if (equation->output.find(c, i + 1) != std::string::npos) {
      fault = absl::StrCat("the output has '", std::string(1, c), "' twice");
    }
  }
  return fault;
}

absl::Span<const TypeRuleRow> EinsumRows() { return kEinsumRows; }

}  // namespace onnx_mem::rules
