// Optimizers: the state that they keep and the temporaries of their step, composed onto an enacted step.
// Source: torch/optim/*.py with foreach=True, the default on a GPU; testdata/measured/optimizers.json holds
// measurements.
#ifndef ONNX_MEM_ANALYZER_EAGER_OPTIMIZER_OPTIMIZER_H_
#define ONNX_MEM_ANALYZER_EAGER_OPTIMIZER_OPTIMIZER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/graph/dag.h"
#include "analyzer/memory/program.h"

namespace onnx_mem {

// How the step passes through the parameters: all at once in a list of kernels (the default on a GPU), one by one, or
// in one kernel that needs no temporaries.
enum class OptimizerImplementation { kForeach, kForLoop, kFused };
std::string_view NameOf(OptimizerImplementation implementation);  // "foreach", "for-loop", "fused"

struct Optimizer {
  std::string name = "adam";  // a row of the table, or "bytes" with bytes_per_parameter
  OptimizerImplementation implementation = OptimizerImplementation::kForeach;
  bool implementation_given = false;  // by the user: else a trainer may choose another
  double bytes_per_parameter = 0;
  bool weight_decay = false;  // L2: added to the gradients, which foreach and for-loop steps copy for it
  // An average of the whole model is kept beside it and brought up to date after each step.
  bool averages_model = false;
  friend bool operator==(const Optimizer&, const Optimizer&) = default;
};

// "adam", "sgd", ..., or a number: bytes of state per parameter. Error (usage) lists the known names.
absl::StatusOr<Optimizer> ParseOptimizer(std::string_view text);
std::vector<std::string> OptimizerNames();

// OK iff the framework has `optimizer`'s implementation of it. Error (usage) says which optimizers have it.
absl::Status CheckImplementation(const Optimizer& optimizer);

// What the optimizer sees of a parameter: only those with a gradient have state.
struct TrainedParameter {
  std::string name;
  int64_t bytes = 0;
  int64_t elements = 0;
  Dims dims;
  DType dtype = DType::kUnknown;
};

// `trace` = forward, loss and backward without any optimizer state; its parameter gradients live to its last step.
// Returns the whole step: with `first_step`, state appears in the optimizer's step; else it lives throughout. An
// average of the model does so in step 1 too.
MemoryProgram WithOptimizer(MemoryProgram trace, const std::vector<TrainedParameter>& parameters,
                            const Optimizer& optimizer, bool first_step);

// What WithOptimizer makes of the same trace for step 2 and later, from what it made for step 1.
MemoryProgram LaterStep(MemoryProgram first_step, const std::vector<TrainedParameter>& parameters,
                        const Optimizer& optimizer);

// The peak of that later step, without making it.
int64_t LaterStepPeak(const MemoryProgram& trace, const std::vector<TrainedParameter>& parameters,
                      const Optimizer& optimizer);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_EAGER_OPTIMIZER_OPTIMIZER_H_
