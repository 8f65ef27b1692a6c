// Heads that a model runs in training alone, for losses beside that of its answer. An export in training mode has them,
// and an inference may not run them.
//
//   if self.training:
//       return out, self.auxiliary(features)      two outputs of one kind
//   return out
//
// Sources: torchvision/models/googlenet.py and inception.py (_forward).
#ifndef ONNX_MEM_ANALYZER_ASSUME_REGIONS_AUXILIARY_OUTPUTS_H_
#define ONNX_MEM_ANALYZER_ASSUME_REGIONS_AUXILIARY_OUTPUTS_H_

#include "analyzer/graph/lowered.h"

namespace onnx_mem {

// Leaves out the outputs that have the classes or channels of the first one, and what leads to them alone, where layers
// are part of it: views continue in its place. False if there is none.
bool LeaveOutAuxiliary(Lowered& lowered);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ASSUME_REGIONS_AUXILIARY_OUTPUTS_H_
