// Batch norm as a building block: instance norm is one over [1, N * C, ...].
#ifndef ONNX_MEM_ANALYZER_EAGER_OPERATORS_NORM_H_
#define ONNX_MEM_ANALYZER_EAGER_OPERATORS_NORM_H_

#include <initializer_list>
#include <vector>

#include "analyzer/eager/engine/machine.h"

namespace onnx_mem::eager {

// aten::batch_norm on CUDA; weight and bias may be null. `training`: by batch statistics, which are saved;
// `statistics`, if given, gets them. `running`: mean and variance, which instance norm makes for itself; they are
// saved.
TensorRef BatchNorm(Machine& m, const TensorRef& x, const TensorRef& weight, const TensorRef& bias, bool training,
                    bool in_place = false, std::vector<TensorRef>* statistics = nullptr,
                    std::initializer_list<TensorRef> running = {});

}  // namespace onnx_mem::eager

#endif  // ONNX_MEM_ANALYZER_EAGER_OPERATORS_NORM_H_
