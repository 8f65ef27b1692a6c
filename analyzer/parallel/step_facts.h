// What strategies of data parallelism want to know of a step that was enacted on one card: its parameters, when their
// gradients arrive, and when each module runs.
#ifndef ONNX_MEM_ANALYZER_PARALLEL_STEP_FACTS_H_
#define ONNX_MEM_ANALYZER_PARALLEL_STEP_FACTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analyzer/analysis/enact.h"
#include "analyzer/memory/program.h"

namespace onnx_mem {

struct OwnedParameter {
  std::string name, module;
  BufferId buffer;
  Dims dims;
  DType dtype = DType::kUnknown;
  int64_t bytes = 0;
  int64_t elements = 0;
  bool trained = false;  // a gradient arrives
};

// Steps [first, last].
struct ModuleSpan {
  StepId first, last;
};
using SpansByModule = std::map<std::string, ModuleSpan, std::less<>>;

struct Arrived {
  size_t parameter = 0;  // of StepFacts::parameters
  StepId step;           // behind which AccumulateGrad runs
};

struct StepFacts {
  std::vector<OwnedParameter> parameters;           // each storage once
  absl::flat_hash_map<BufferId, Arrived> arrivals;  // by the gradient's buffer
  // With what is below each module; "" is the root. Of the backward pass: what runs again for it included, the loss's
  // own steps and the end not.
  SpansByModule forward, backward;
  StepId first_backward;   // the first step of the backward pass that is not the loss's; invalid: there is none
  StepId end_of_backward;  // the step in which the pass ends
};

StepFacts FactsOf(const Enacted& enacted);

// nullopt: no step is of it.
std::optional<ModuleSpan> SpanOf(const SpansByModule& spans, std::string_view module);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_PARALLEL_STEP_FACTS_H_
