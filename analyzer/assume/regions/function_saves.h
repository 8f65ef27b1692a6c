// What a torch.autograd.Function of the model's own code keeps for backward is in no file. At most it is what it is
// given and all that its forward() makes on the way.
#ifndef ONNX_MEM_ANALYZER_ASSUME_REGIONS_FUNCTION_SAVES_H_
#define ONNX_MEM_ANALYZER_ASSUME_REGIONS_FUNCTION_SAVES_H_

#include "analyzer/graph/lowered.h"

namespace onnx_mem {

// Each Function keeps what its forward() makes; whether there is any that makes something.
bool KeepMadeInFunctions(Lowered& lowered);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ASSUME_REGIONS_FUNCTION_SAVES_H_
