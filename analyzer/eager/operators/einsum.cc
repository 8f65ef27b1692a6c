// einsum: operands are permuted to one order of labels (output labels, then summed ones) and contracted pairwise by one
// bmm each; a copy where the groups of labels do not merge.
// Source: aten/src/ATen/native/Linear.cpp (einsum, sumproduct_pair).
//
//   bhid,bhjd->bhij   labels b h i j | d   left [b h i 1 d] -> [b*h, i, d]   right [b h 1 j d] -> [b*h, d, j]
#include <algorithm>
#include <array>
#include <string>

#include "analyzer/eager/operators/binary.h"
#include "analyzer/eager/operators/families.h"
#include "analyzer/eager/operators/matmul.h"
#include "analyzer/eager/operators/reduce.h"
#include "analyzer/eager/views/views.h"
#include "analyzer/ops/einsum_equation.h"

namespace onnx_mem::eager {
namespace {

struct Equation {
  std::vector<std::string> operands;
  std::string order;   // output labels, then the summed ones in order of appearance
  size_t outputs = 0;  // how many of `order` are output labels
};

// An ellipsis stands for as many labels as the operand lacks. They are named by characters before the
// letters, counted from the last: ellipses of different ranks broadcast.
constexpr char kLastOfDots = 1;

std::string ExpandEllipsis(const std::string& labels, size_t dots) {
  const size_t at = labels.find(EinsumEquation::kDots);
  if (at == std::string::npos) return labels;
  std::string expanded;
  while (dots > 0) expanded.push_back(static_cast<char>(kLastOfDots + --dots));
  return labels.substr(0, at) + expanded + labels.substr(at + 1);
}

// Its operands are as many as `inputs`. What is no equation, which nothing runs, has no labels.
Equation Parse(std::string_view text, const std::vector<TensorRef>& inputs) {
  EinsumEquation parsed = ParseEinsum(text).value_or(EinsumEquation{});
  parsed.operands.resize(inputs.size());
  Equation equation;
  size_t most_dots = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string& labels = parsed.operands[i];
    const size_t rank = inputs[i]->dims.size();
    const size_t dots = rank + 1 > labels.size() ? rank + 1 - labels.size() : 0;
    equation.operands.push_back(ExpandEllipsis(labels, dots));
    if (labels.find(EinsumEquation::kDots) != std::string::npos) most_dots = std::max(most_dots, dots);
  }
  equation.order = ExpandEllipsis(parsed.output, most_dots);
  equation.outputs = equation.order.size();
  for (const std::string& operand : equation.operands) {
    for (char c : operand) {
      if (equation.order.find(c) == std::string::npos) equation.order.push_back(c);
    }
  }
  return equation;
}

// A label that an operand has twice is its diagonal there, a view (Linear.cpp: diagonal, movedim).
TensorRef Diagonals(Machine& m, TensorRef t, std::string& labels) {
  for (size_t i = 0; i < labels.size(); ++i) {
    for (size_t other = labels.find(labels[i], i + 1); other != std::string::npos;
         other = labels.find(labels[i], i + 1)) {
      Dims dims = t->dims, strides = t->strides;
      const auto at = static_cast<std::ptrdiff_t>(other);
      strides[i] += strides[other];
      dims.erase(dims.begin() + at);
      strides.erase(strides.begin() + at);
      labels.erase(other, 1);
      t = PartView(m, t, dims, strides, "DiagonalBackward0", "diagonal_backward");
    }
  }
  return t;
}

// The operand with one dimension per label of `order`, 1 where it lacks the label.
TensorRef Aligned(Machine& m, const TensorRef& t, const std::string& labels, const std::string& order) {
  Dims dims = t->dims;
  dims.resize(order.size(), 1);
  const TensorRef wide = View(m, t, dims, "UnsqueezeBackward0");
  Dims perm;
  size_t next = labels.size();
  for (char c : order) {
    const size_t at = labels.find(c);
    perm.push_back(static_cast<int64_t>(at == std::string::npos ? next++ : at));
  }
  return Permute(m, wide, perm);
}

// Which dimensions both have, one has, or are summed.
struct Groups {
  Dims both, left, right, summed;
};

int64_t SizeOf(const TensorRef& t, const Dims& axes) {
  int64_t size = 1;
  for (int64_t axis : axes) size *= t->dims[static_cast<size_t>(axis)];
  return size;
}

Dims Joined(std::initializer_list<const Dims*> parts) {
  Dims all;
  for (const Dims* part : parts) all.insert(all.end(), part->begin(), part->end());
  return all;
}

TensorRef Product(Machine& m, const TensorRef& a, const TensorRef& b, const Groups& g) {
  const int64_t batch = SizeOf(a, g.both), rows = SizeOf(a, g.left), columns = SizeOf(b, g.right);
  const int64_t inner = SizeOf(a, g.summed);
  const TensorRef left =
      Reshape(m, Permute(m, a, Joined({&g.both, &g.left, &g.summed, &g.right})), Dims{batch, rows, inner});
  const TensorRef right =
      Reshape(m, Permute(m, b, Joined({&g.both, &g.summed, &g.right, &g.left})), Dims{batch, inner, columns});
  Dims out;
  for (int64_t axis : g.both) out.push_back(a->dims[static_cast<size_t>(axis)]);
  for (int64_t axis : g.left) out.push_back(a->dims[static_cast<size_t>(axis)]);
  out.insert(out.end(), g.summed.size(), 1);
  for (int64_t axis : g.right) out.push_back(b->dims[static_cast<size_t>(axis)]);
  const Dims order = Joined({&g.both, &g.left, &g.summed, &g.right});
  Dims inverse(order.size());
  for (size_t i = 0; i < order.size(); ++i) inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return Permute(m, View(m, Bmm(m, left, right), out), inverse);
}

// Sums what no operand of `needed_later` has.
TensorRef Contract(Machine& m, TensorRef a, TensorRef b, size_t outputs, const std::vector<bool>& needed_later) {
  Groups groups;
  Dims a_sums, b_sums;
  for (size_t d = 0; d < a->dims.size(); ++d) {
    const bool in_a = a->dims[d] != 1, in_b = b->dims[d] != 1;
    const bool ends = d >= outputs && !needed_later[d];
    const auto axis = static_cast<int64_t>(d);
    if (ends && in_a && !in_b) a_sums.push_back(axis);
    if (ends && in_b && !in_a) b_sums.push_back(axis);
    if (ends && in_a == in_b) {
      groups.summed.push_back(axis);
    } else if (in_a && in_b) {
      groups.both.push_back(axis);
    } else if (in_a) {
      groups.left.push_back(axis);
    } else {
      groups.right.push_back(axis);
    }
  }
  const bool sums = !groups.summed.empty() || !a_sums.empty() || !b_sums.empty();
  if (!sums) return Mul(m, a, b);  // an outer product, or elements
  if (!a_sums.empty()) a = Sum(m, a, a_sums, /*keep_dims=*/true);
  if (!b_sums.empty()) b = Sum(m, b, b_sums, /*keep_dims=*/true);
  // Where the result has all that the second alone has before what the first alone has, they change places: its memory
  // is in its own order then.
  const bool swaps = !groups.left.empty() && !groups.right.empty() && groups.right.back() < groups.left.front();
  if (!swaps) return Product(m, a, b, groups);
  std::swap(groups.left, groups.right);
  return Product(m, b, a, groups);
}

// By `order`: takes the first and second, or the pairs that it names; a product is the first then, or the last.
TensorRef Contracted(Machine& m, std::vector<TensorRef> left, size_t outputs, const std::vector<int64_t>& order) {
  for (size_t pair = 0; left.size() > 1; pair += 2) {
    const bool is_named = pair + 1 < order.size();
    const auto first = left.begin() + (is_named ? order[pair] : 0);
    const auto second = left.begin() + (is_named ? order[pair + 1] : 1);
    const TensorRef a = *first, b = *second;
    left.erase(second);
    left.erase(first);
    std::vector<bool> needed_later(a->dims.size(), false);
    for (const TensorRef& later : left) {
      for (size_t d = 0; d < needed_later.size(); ++d) needed_later[d] = needed_later[d] || later->dims[d] != 1;
    }
    left.insert(is_named ? left.end() : left.begin(), Contract(m, a, b, outputs, needed_later));
  }
  return left[0];
}

void EnactEinsum(Machine& m, const Call& call, Outputs& out) {
  std::vector<TensorRef> inputs;
  for (const TensorRef& input : call.inputs) inputs.push_back(m.AutocastLow(input));
  Equation equation = Parse(StringAttribute(call.node, "equation", ""), inputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    inputs[i] = Diagonals(m, inputs[i], equation.operands[i]);
    inputs[i] = Aligned(m, inputs[i], equation.operands[i], equation.order);
  }
  TensorRef result = Contracted(m, inputs, equation.outputs, IntsAttribute(call.node, "path"));
  if (inputs.size() == 1 && equation.order.size() > equation.outputs) {
    Dims axes;
    for (size_t d = equation.outputs; d < equation.order.size(); ++d) axes.push_back(static_cast<int64_t>(d));
    result = Sum(m, result, axes, /*keep_dims=*/false);
  }
  out[0] = result->dims == call.output_dims() ? result : View(m, result, call.output_dims());
}

}  // namespace

std::span<const OpRow> EinsumOps() {
  static constexpr auto kRows = std::to_array<OpRow>({{"einsum", EnactEinsum}});
  return kRows;
}

}  // namespace onnx_mem::eager
