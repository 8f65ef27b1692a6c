// Dropout as a building block of attention.
#ifndef ONNX_MEM_ANALYZER_EAGER_OPERATORS_DROPOUT_H_
#define ONNX_MEM_ANALYZER_EAGER_OPERATORS_DROPOUT_H_

#include "analyzer/eager/engine/machine.h"

namespace onnx_mem::eager {

// F.dropout in training; the very same tensor when p = 0 or outside training.
TensorRef Dropout(Machine& m, const TensorRef& x, double p);

// The share of elements that a call of `node` sets to zero at random in training; 0 where the operator does not.
double DropProbability(const FrameworkNode& node);

}  // namespace onnx_mem::eager

#endif  // ONNX_MEM_ANALYZER_EAGER_OPERATORS_DROPOUT_H_
