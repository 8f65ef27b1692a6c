// The order of the two operands of a sum or a product, which a tool may have changed: backward makes their gradients in
// that order.
#ifndef ONNX_MEM_ANALYZER_ASSUME_TABLE_OPERAND_ORDER_H_
#define ONNX_MEM_ANALYZER_ASSUME_TABLE_OPERAND_ORDER_H_

#include "analyzer/graph/lowered.h"

namespace onnx_mem {

// Whether a pattern took operands that stand the other way round (lower/draft/match.h, kMaybeSwapped).
bool HasSwappedOperands(const Lowered& lowered);

// The other order of each sum and product of different shapes, whose gradients backward then makes in the other order.
// False if there is none.
bool SwapOperands(Lowered& lowered);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ASSUME_TABLE_OPERAND_ORDER_H_
