// Where sequence parallelism puts the sequence together again.
#ifndef ONNX_MEM_ANALYZER_LOWER_ADAPTERS_SEQUENCE_GATHERS_H_
#define ONNX_MEM_ANALYZER_LOWER_ADAPTERS_SEQUENCE_GATHERS_H_

#include <vector>

#include "analyzer/graph/lowered.h"
#include "analyzer/lower/adapters/styled_modules.h"

namespace onnx_mem {

// Column-wise layers of `plan` that read one tensor share what is gathered, where a module has all of them and is given
// that tensor: torch's PrepareModuleInput of this module. Such modules are added; other layers gather for themselves.
void AddGathers(const Lowered& lowered, std::vector<StyledModule>& plan);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_ADAPTERS_SEQUENCE_GATHERS_H_
