// Watches an enacted step for a StepTrace: nodes, calls, what autograd nodes save.
#ifndef ONNX_MEM_ANALYZER_ANALYSIS_STEP_TRACER_H_
#define ONNX_MEM_ANALYZER_ANALYSIS_STEP_TRACER_H_

#include <cstdint>
#include <vector>

#include "analyzer/analysis/enact.h"
#include "analyzer/eager/engine/executor.h"
#include "analyzer/eager/engine/machine.h"
#include "analyzer/eager/spans/call_tracer.h"

namespace onnx_mem {

class StepTracer {
 public:
  // Before the forward. All three must outlive it; without a trace it watches nothing.
  StepTracer(eager::Machine& machine, eager::Executor& executor, StepTrace* trace);
  // Behind the loss, before the backward.
  void Finish();
  // Behind the backward.
  void FinishBackward();

 private:
  eager::Machine& m_;
  eager::Executor& executor_;
  StepTrace* trace_;
  eager::CallTracer calls_;
  std::vector<int32_t> saved_by_;  // autograd nodes of trace_->saved
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ANALYSIS_STEP_TRACER_H_
