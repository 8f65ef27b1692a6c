// In which order torch.einsum multiplies three operands or more. From left to right, but where the package opt_einsum
// is installed: then in the order that costs the fewest operations. An export says nothing of either.
//
//   einsum("ijk,za,zi,zj->zka", w, x, y, z)     from left to right makes [i j k z a]; the cheapest order does not
//
// Sources: torch/functional.py (einsum); opt_einsum/paths.py (auto, optimal), opt_einsum/helpers.py (flop_count).
#ifndef ONNX_MEM_ANALYZER_ASSUME_TABLE_CONTRACTION_ORDER_H_
#define ONNX_MEM_ANALYZER_ASSUME_TABLE_CONTRACTION_ORDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/graph/lowered.h"

namespace onnx_mem {

// Pairs of places in the list of operands: both are taken out, their product comes last. `operands` are the labels of
// each, `sizes` the size of each label by its character. The first of the cheapest; all orders are tried.
std::vector<int64_t> CheapestOrder(const std::vector<std::string>& operands, const std::string& output,
                                   const std::vector<double>& sizes);

// Gives each einsum of 3 to 6 operands without an ellipsis its cheapest order ("path"). False if there is none.
bool ContractCheapestFirst(Lowered& lowered);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ASSUME_TABLE_CONTRACTION_ORDER_H_
