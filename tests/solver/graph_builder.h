// Step graphs in a few lines, for tests. Names are F0, F1, ... B2, ... by operator position, and t0, t1, ...
#ifndef ONNX_MEM_TESTS_SOLVER_GRAPH_BUILDER_H_
#define ONNX_MEM_TESTS_SOLVER_GRAPH_BUILDER_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "solver/problem/problem.h"

namespace onnx_mem {

struct GraphBuilder {
  using Inputs = std::vector<std::vector<StepTensorId>>;
  using Outputs = std::vector<StepTensorId>;

  StepTensorId Input() { return Add(0, StepTensorKind::kInput); }
  StepTensorId Activation(int64_t bytes) { return Add(bytes, StepTensorKind::kActivation); }
  StepTensorId Gradient(int64_t bytes) { return Add(bytes, StepTensorKind::kGradient); }
  StepTensorId ParameterGradient(int64_t bytes) { return Add(bytes, StepTensorKind::kParameterGradient); }

  StepOpId Forward(int64_t cost, Inputs inputs, Outputs outputs, int64_t work = 0, std::string group = "") {
    return Add("F", StepOpKind::kForward, cost, std::move(inputs), std::move(outputs), work, std::move(group));
  }
  StepOpId Backward(int64_t cost, Inputs inputs, Outputs outputs, int64_t work = 0) {
    return Add("B", StepOpKind::kBackward, cost, std::move(inputs), std::move(outputs), work, "");
  }
  StepOpId Ordered(int64_t cost, Inputs inputs, Outputs outputs, int64_t work = 0) {
    return Add("N", StepOpKind::kOrdered, cost, std::move(inputs), std::move(outputs), work, "");
  }

  StepGraph graph;

 private:
  StepTensorId Add(int64_t bytes, StepTensorKind kind) {
    return graph.tensors.Add({absl::StrCat("t", graph.tensors.size()), bytes, kind});
  }
  StepOpId Add(const char* prefix, StepOpKind kind, int64_t cost, Inputs inputs, Outputs outputs, int64_t work,
               std::string group) {
    return graph.ops.Add({absl::StrCat(prefix, graph.ops.size()), kind, cost, work, std::move(inputs),
                          std::move(outputs), std::move(group)});
  }
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_TESTS_SOLVER_GRAPH_BUILDER_H_
