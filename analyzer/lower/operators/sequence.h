// Rows for sequences of tensors (site.h).
#ifndef ONNX_MEM_ANALYZER_LOWER_OPERATORS_SEQUENCE_H_
#define ONNX_MEM_ANALYZER_LOWER_OPERATORS_SEQUENCE_H_

#include "analyzer/lower/operators/site.h"

namespace onnx_mem {

void LowerSplitToSequence(Site& s);
void LowerSequenceConstruct(Site& s);  // and of none: SequenceEmpty
void LowerSequenceEdit(Site& s);       // one more, or one less
void LowerSequenceAt(Site& s);
void LowerConcatFromSequence(Site& s);
void LowerOptional(Site& s);  // into it and out of it: the very same tensor or sequence

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_OPERATORS_SEQUENCE_H_
