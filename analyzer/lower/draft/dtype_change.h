// --dtype: the whole model in another floating type, as model.half() makes it.
#ifndef ONNX_MEM_ANALYZER_LOWER_DRAFT_DTYPE_CHANGE_H_
#define ONNX_MEM_ANALYZER_LOWER_DRAFT_DTYPE_CHANGE_H_

#include "analyzer/graph/dtype.h"
#include "analyzer/lower/draft/draft.h"

namespace onnx_mem {

// Every tensor of 16 or 32 floating bits becomes `dtype`: inputs, weights, results of casts and constants too, else
// promotion would undo it. Wider floats stay; statistics that the framework keeps in fp32 are eager's.
void ChangeDtype(Draft& draft, DType dtype);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_DRAFT_DTYPE_CHANGE_H_
