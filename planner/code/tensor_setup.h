// Tensor parallelism in a rank's set-up: parallelize_module, behind the plan, which wraps forwards, and before FSDP,
// which shards the local parts once more.
#ifndef ONNX_MEM_PLANNER_CODE_TENSOR_SETUP_H_
#define ONNX_MEM_PLANNER_CODE_TENSOR_SETUP_H_

#include <string>
#include <vector>

#include "analyzer/parallel/rank_step.h"

namespace onnx_mem {

// Of whatever spreads a step over ranks.
inline constexpr char kMeshImport[] = "    from torch.distributed.device_mesh import init_device_mesh\n";

// A list of names for each style that is there.
std::string SplitNames(const std::vector<SplitModule>& split);

// Lines of set_up. TensorSetup reads `mesh` and gives `known`, the model's modules by name.
std::string TensorImports(const std::vector<SplitModule>& split);
std::string TensorSetup(const std::vector<SplitModule>& split);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_CODE_TENSOR_SETUP_H_
