// The optimizers: a row each. What one keeps of a parameter, what its step makes beside that, and how it is named.
#ifndef ONNX_MEM_ANALYZER_EAGER_OPTIMIZER_OPTIMIZER_TABLE_H_
#define ONNX_MEM_ANALYZER_EAGER_OPTIMIZER_OPTIMIZER_TABLE_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "analyzer/eager/optimizer/optimizer.h"
#include "analyzer/eager/optimizer/optimizer_step.h"

namespace onnx_mem {

// State of one parameter, one entry per tensor that the optimizer keeps: bytes, and the name it has in state_dict().
struct StateTensor {
  std::string_view name;
  int64_t bytes;
  // On the CPU unless the step is fused: torch/optim/adam.py, "Deliberately host `step` on CPU".
  bool on_cpu = false;
};
using StateFn = std::vector<StateTensor> (*)(const TrainedParameter&);

// Passes: how often a step reads or writes as many bytes as the trained parameters have, one operator of the
// framework's loop after another (_multi_tensor_adam: lerp 3, mul 2, addcmul 3, sqrt 2, div 2, add 2, addcdiv 4).
struct OptimizerRow {
  std::string_view name;
  std::string_view description;
  StateFn state;
  StepFn foreach;
  StepFn for_loop;
  int passes;
  bool has_fused = false;
  bool state_at_construction = false;
  std::string_view also = "";  // other names of it, separated by spaces
  int tables = 0;              // of 256 numbers each, which quantized state shares
};
std::span<const OptimizerRow> OptimizerRows();

// nullptr: none has that name.
const OptimizerRow* FindRow(std::string_view name);
// The row that someone means by "AdamW", "torch.optim.SGD" or "sgd_momentum".
const OptimizerRow* RowOfWord(std::string_view word);

// Whether an optimizer with 8-bit state has it of this parameter.
bool IsEightBit(const TrainedParameter& parameter);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_EAGER_OPTIMIZER_OPTIMIZER_TABLE_H_
