// Loops and Scans whose number of iterations the file and its bound dimensions determine, written out: the framework
// ran their bodies operator by operator, and a gradient passes through every iteration.
//
//   y = Loop(3, true, x) { a -> b = Mul(a, a) }      b_0 = Mul(x, x)  b_1 = Mul(b_0, b_0)  b_2 = Mul(b_1, b_1)  y = b_2
#ifndef ONNX_MEM_ANALYZER_ONNX_BUILD_UNROLL_H_
#define ONNX_MEM_ANALYZER_ONNX_BUILD_UNROLL_H_

#include <memory>

#include "analyzer/onnx/infer/shapes.h"

namespace onnx_mem {

// A copy of `model`, of which `facts` are known, with the loops of its main graph unrolled; those inside them are loops
// of its main graph then. Null where there is nothing to unroll, or it would take more than some ten thousand nodes.
std::unique_ptr<onnx::ModelProto> UnrollLoops(const onnx::ModelProto& model, const InferredGraph& facts);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_BUILD_UNROLL_H_
