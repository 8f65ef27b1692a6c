#include "analyzer/assume/table/contraction_order.h"

#include <algorithm>
#include <limits>

#include "analyzer/ops/einsum_equation.h"

namespace onnx_mem {
namespace {

constexpr size_t kMostOperands = 6;  // beyond, the package does not try all orders

struct PairOrder {
  std::vector<int64_t> pairs = {};
  double operations = 0;
};

bool Has(const std::string& labels, char label) { return labels.find(label) != std::string::npos; }

std::string Union(const std::string& a, const std::string& b) {
  std::string both = a;
  std::copy_if(b.begin(), b.end(), std::back_inserter(both), [&](char label) { return !Has(both, label); });
  return both;
}

// Tries every pair of `left`, the operands that are left, after `taken`; `best` is the cheapest order found.
void TryAll(const std::vector<std::string>& left, const std::string& output, const std::vector<double>& sizes,
            const PairOrder& taken, PairOrder& best) {
  if (left.size() == 1) {
    best = taken;
    return;
  }
  for (size_t i = 0; i < left.size(); ++i) {
    for (size_t j = i + 1; j < left.size(); ++j) {
      std::vector<std::string> others = left;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(j));
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
      std::string made;
      double operations = 1;
      bool sums = false;
      for (char label : Union(left[i], left[j])) {
        const bool is_kept = Has(output, label) || std::any_of(others.begin(), others.end(),
                                                               [&](const auto& other) { return Has(other, label); });
        if (is_kept) made.push_back(label);
        sums |= !is_kept && Has(left[i], label) && Has(left[j], label);
        operations *= sizes[static_cast<unsigned char>(label)];
      }
      PairOrder next = taken;
      next.operations += sums ? 2 * operations : operations;
      if (next.operations >= best.operations) continue;
      next.pairs.insert(next.pairs.end(), {static_cast<int64_t>(i), static_cast<int64_t>(j)});
      others.push_back(made);
      TryAll(others, output, sizes, next, best);
    }
  }
}

// By the character of each label, the size that the operands of `node` give it.
std::vector<double> SizesOf(const FrameworkGraph& graph, const FrameworkNode& node, const EinsumEquation& equation) {
  std::vector<double> sizes(std::numeric_limits<unsigned char>::max() + 1, 1);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Dims& dims = graph.tensors[node.inputs[i]].shape.dims;
    for (size_t d = 0; d < std::min(dims.size(), equation.operands[i].size()); ++d) {
      double& size = sizes[static_cast<unsigned char>(equation.operands[i][d])];
      size = std::max(size, static_cast<double>(dims[d]));
    }
  }
  return sizes;
}

bool IsOpen(const FrameworkNode& node, const EinsumEquation& equation) {
  const auto has_dots = [](const std::string& labels) { return Has(labels, EinsumEquation::kDots); };
  return node.inputs.size() > 2 && node.inputs.size() <= kMostOperands &&
         equation.operands.size() == node.inputs.size() &&
         std::all_of(node.inputs.begin(), node.inputs.end(), [](TensorId id) { return id.valid(); }) &&
         std::none_of(equation.operands.begin(), equation.operands.end(), has_dots);
}

}  // namespace

std::vector<int64_t> CheapestOrder(const std::vector<std::string>& operands, const std::string& output,
                                   const std::vector<double>& sizes) {
  std::vector<std::string> left;
  left.reserve(operands.size());
  for (const std::string& labels : operands) left.push_back(Union("", labels));
  PairOrder best = {.operations = std::numeric_limits<double>::infinity()};
  TryAll(left, output, sizes, {}, best);
  return best.pairs;
}

bool ContractCheapestFirst(Lowered& lowered) {
  bool any = false;
  for (FrameworkNode& node : lowered.graph.nodes) {
    if (node.op != "einsum") continue;
    const EinsumEquation equation = ParseEinsum(StringAttribute(node, "equation", "")).value_or(EinsumEquation{});
    if (!IsOpen(node, equation)) continue;
    node.attributes["path"] = CheapestOrder(equation.operands, equation.output, SizesOf(lowered.graph, node, equation));
    any = true;
  }
  return any;
}

}  // namespace onnx_mem
