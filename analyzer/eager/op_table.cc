#include "analyzer/eager/op_table.h"

#include "absl/container/flat_hash_map.h"
#include "analyzer/eager/ops/families.h"

namespace onnx_mem::eager {
namespace {

using Index = absl::flat_hash_map<std::string_view, const OpRow*>;

// All families, in the order of op_table.h.
constexpr std::span<const OpRow> (*kFamilies[])() = {
    ViewOps,   UnaryOps,         ScalarOps,  BinaryOps,    SelectionOps, MatmulOps, EinsumOps,  ConvolutionOps,
    NormOps,   NormCompositeOps, PoolOps,    SoftmaxOps,   ReduceOps,    SelectOps, ShapeOps,   ResampleOps,
    CreateOps, AttentionOps,     DropoutOps, RecurrentOps, QuantizeOps,  LossOps,   DefaultOps,
};

Index BuildIndex() {
  Index index;
  for (auto family : kFamilies) {
    for (const OpRow& row : family()) index.emplace(row.name, &row);
  }
  return index;
}

}  // namespace

const OpRow* FindOp(std::string_view name) {
  static const Index& index = *new Index(BuildIndex());
  auto it = index.find(name);
  return it == index.end() ? nullptr : it->second;
}

}  // namespace onnx_mem::eager
