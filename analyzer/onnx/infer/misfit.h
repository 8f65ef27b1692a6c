// Inputs that do not fit each other, where the schemas' inference would not notice and give a shape all the same: a
// convolution with another number of channels than its input, a Reshape to another number of elements.
#ifndef ONNX_MEM_ANALYZER_ONNX_INFER_MISFIT_H_
#define ONNX_MEM_ANALYZER_ONNX_INFER_MISFIT_H_

#include <string>
#include <string_view>

#include "analyzer/graph/shape.h"
#include "analyzer/onnx/fold/fold.h"

namespace onnx_mem {

// What is wrong with a node's inputs ("inner sizes differ: 768 and 512"), or with the shape inferred for its first
// output; empty where nothing is, or where unknown dims leave it open.
using InputCheck = std::string (*)(const fold::FoldCall&);
using OutputCheck = std::string (*)(const fold::FoldCall&, const Shape& output);

// The checks of an operator of the default domain; null where there is none.
InputCheck FindInputCheck(std::string_view op);
OutputCheck FindOutputCheck(std::string_view op);

// What is wrong with attributes of a standard operator that name axes of its first input, of shape `first`. ONNX's own
// functions count on them, some without a look.
std::string AxisFault(const onnx::NodeProto& node, int version, const Shape& first);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_INFER_MISFIT_H_
