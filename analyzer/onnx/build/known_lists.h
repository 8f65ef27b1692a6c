// Lists of tensors whose parts are known one by one, as code leaves them that splits a tensor in a loop over positions
// (torch.tensor_split): what is taken out of one is the tensor that was put in. Shape inference knows of a list no more
// than what all its tensors have in common.
//
//   a = SequenceEmpty()  b = SequenceInsert(a, x)  c = SequenceInsert(b, y)  z = SequenceAt(c, 1)   ->   z =
//   Identity(y)
#ifndef ONNX_MEM_ANALYZER_ONNX_BUILD_KNOWN_LISTS_H_
#define ONNX_MEM_ANALYZER_ONNX_BUILD_KNOWN_LISTS_H_

#include <memory>

#include "analyzer/onnx/infer/shapes.h"

namespace onnx_mem {

// A copy of `model`, of which `facts` are known, in which tensors of unknown rank that its main graph takes out of
// known lists are those that were put in. Null where there are none.
std::unique_ptr<onnx::ModelProto> UnpackLists(const onnx::ModelProto& model, const InferredGraph& facts);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_BUILD_KNOWN_LISTS_H_
