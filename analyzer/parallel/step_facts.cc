#include "analyzer/parallel/step_facts.h"

#include "analyzer/graph/module_path.h"
#include "analyzer/graph/shape.h"

namespace onnx_mem {
namespace {

void Extend(std::string_view module, StepId step, SpansByModule& spans) {
  const auto known = spans.find(module);
  if (known == spans.end()) {
    spans.emplace(std::string(module), ModuleSpan{step, step});
  } else {
    known->second.last = step;
  }
}

// A step is of its module and of all that it is in.
void AddStep(std::string_view module, StepId step, SpansByModule& spans) {
  Extend("", step, spans);
  ForEachOuterModule(module, [&](std::string_view outer) { Extend(outer, step, spans); });
  if (!module.empty()) Extend(module, step, spans);
}

void AddSpans(const MemoryProgram& program, StepFacts& facts) {
  for (StepId id(0); program.steps.contains(id); id = StepId(id.value() + 1)) {
    const Step& step = program.steps[id];
    if (step.op == kEndOfBackward) {
      facts.end_of_backward = id;
    } else if (step.phase == Phase::kForward && !step.recompute) {
      AddStep(step.module, id, facts.forward);
    } else if (step.phase == Phase::kBackward) {
      if (!facts.first_backward.valid() && !step.node.empty()) facts.first_backward = id;
      if (!step.module.empty()) AddStep(step.module, id, facts.backward);
    }
  }
}

}  // namespace

StepFacts FactsOf(const Enacted& enacted) {
  StepFacts facts;
  absl::flat_hash_map<BufferId, size_t> by_buffer;
  for (const Parameter& p : enacted.parameters) {
    if (!p.buffer.valid() || !by_buffer.emplace(p.buffer, facts.parameters.size()).second) continue;
    facts.parameters.push_back({p.name, p.module, p.buffer, p.dims, p.dtype, enacted.program.buffers[p.buffer].bytes,
                                NumElements(Shape(p.dims)).value_or(0), false});
  }
  for (const GradientArrival& arrival : enacted.arrivals) {
    const auto parameter = by_buffer.find(arrival.parameter);
    if (parameter == by_buffer.end()) continue;
    facts.parameters[parameter->second].trained = true;
    facts.arrivals.emplace(arrival.gradient, Arrived{parameter->second, arrival.step});
  }
  AddSpans(enacted.program, facts);
  return facts;
}

std::optional<ModuleSpan> SpanOf(const SpansByModule& spans, std::string_view module) {
  const auto found = spans.find(module);
  return found == spans.end() ? std::nullopt : std::optional<ModuleSpan>(found->second);
}

}  // namespace onnx_mem
