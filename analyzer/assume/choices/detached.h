// Calls of detach() that an export has lost: exporters write no operator for it, so a file looks fully differentiable.
//
//   z + (q - z).detach()     nothing flows back through the difference (van den Oord et al. 2017, 3.2)
#ifndef ONNX_MEM_ANALYZER_ASSUME_CHOICES_DETACHED_H_
#define ONNX_MEM_ANALYZER_ASSUME_CHOICES_DETACHED_H_

#include <cstdint>

#include "analyzer/graph/lowered.h"

namespace onnx_mem {

// About the bytes that a training step has no need of if these places are detached: the gradient of the differences.
int64_t BytesWithoutDetach(const Lowered& lowered);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ASSUME_CHOICES_DETACHED_H_
