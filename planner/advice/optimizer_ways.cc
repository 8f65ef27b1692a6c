// Other implementations of the optimizer's step, and optimizers that keep less.
#include <array>

#include "planner/advice/way.h"

namespace onnx_mem {
namespace {

bool HasState(const Situation& s) {
  const std::string& name = s.workload.optimizer.name;
  return s.workload.mode == Mode::kTraining && name != "none" && name != "sgd" && name != "bytes";
}

Proposal WithOptimizer(const Situation& s, std::string name, std::string change, std::string cost) {
  Proposal result{std::move(change), {"--optimizer", name}, std::move(cost), Price::kTraining, s.workload};
  result.workload.optimizer.name = std::move(name);
  if (!CheckImplementation(result.workload.optimizer).ok()) {
    result.workload.optimizer.implementation = OptimizerImplementation::kForeach;
    result.flags.insert(result.flags.end(), {"--optimizer-impl", "foreach"});
  }
  return result;
}

}  // namespace

std::vector<Proposal> ProposeFusedOptimizer(const Situation& s) {
  if (!HasState(s) || s.workload.optimizer.implementation == OptimizerImplementation::kFused) return {};
  Proposal change{"fused " + s.workload.optimizer.name, {"--optimizer-impl", "fused"}, "", Price::kNothing, s.workload};
  change.workload.optimizer.implementation = OptimizerImplementation::kFused;
  if (!CheckImplementation(change.workload.optimizer).ok()) return {};
  return {change};
}

std::vector<Proposal> ProposeSmallerState(const Situation& s) {
  if (!HasState(s)) return {};
  const std::string& name = s.workload.optimizer.name;
  std::vector<Proposal> changes;
  if (name == "adam" || name == "adamw" || name == "amsgrad") {
    changes.push_back(WithOptimizer(s, "adam8bit", "8-bit Adam", "another library (bitsandbytes)"));
  }
  if (name != "momentum" && name != "nesterov" && name != "adagrad" && name != "rmsprop") {
    changes.push_back(WithOptimizer(s, "momentum", "SGD with momentum", "other hyperparameters"));
  }
  changes.push_back(WithOptimizer(s, "sgd", "plain SGD", "other hyperparameters"));
  return changes;
}

}  // namespace onnx_mem
