// Rows for sequences of tensors (site.h).
#ifndef ONNX_MEM_ANALYZER_LOWER_OPS_SEQUENCE_H_
#define ONNX_MEM_ANALYZER_LOWER_OPS_SEQUENCE_H_

#include "analyzer/lower/site.h"

namespace onnx_mem {

void LowerSplitToSequence(Site& s);
void LowerSequenceAt(Site& s);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_OPS_SEQUENCE_H_
