#include "analyzer/analysis/step_tracer.h"

#include <span>
#include <utility>
#include <vector>

namespace onnx_mem {
namespace {

using eager::Machine;
using eager::TensorRef;

void Observe(Machine& m, eager::Executor& executor, std::vector<NodeTrace>& nodes) {
  executor.SetObserver(
      [&m, &nodes](int32_t node, std::span<const TensorRef> inputs, std::span<const TensorRef> outputs, StepId before) {
        NodeTrace trace{.node = node,
                        .begin = StepId(before.value() + 1),
                        .end = m.recorder().program().steps.next_id(),
                        .reads = {},
                        .writes = {}};
        for (const TensorRef& t : inputs) {
          if (t != nullptr) trace.reads.push_back(t->storage->buffer);
        }
        for (const TensorRef& t : outputs) {
          if (t != nullptr) trace.writes.push_back(t->storage->buffer);
        }
        nodes.push_back(std::move(trace));
      });
}

// `by`: becomes the autograd nodes, one for each.
std::vector<SavedTrace> SavedByNodes(Machine& m, const FrameworkGraph& graph, std::vector<int32_t>& by) {
  std::vector<SavedTrace> saved;
  for (int32_t i = 0; i < static_cast<int32_t>(m.num_nodes()); ++i) {
    const eager::AutogradNode& node = m.node(i);
    SavedTrace trace;
    if (node.origin != nullptr) trace.node = static_cast<int32_t>(node.origin - &*graph.nodes.begin());
    for (const eager::SavedTensor& entry : node.saved) {
      if (entry.tensor != nullptr && entry.tensor->storage != nullptr)
        trace.buffers.push_back(entry.tensor->storage->buffer);
    }
    if (trace.node < 0 && trace.buffers.empty()) continue;
    saved.push_back(std::move(trace));
    by.push_back(i);
  }
  return saved;
}

}  // namespace

StepTracer::StepTracer(Machine& machine, eager::Executor& executor, StepTrace* trace)
    : m_(machine), executor_(executor), trace_(trace), calls_(machine, executor.lowered()) {
  if (trace_ == nullptr) return;
  Observe(m_, executor_, trace_->forward);
  executor_.SetTracer(&calls_);
}

void StepTracer::Finish() {
  if (trace_ == nullptr) return;
  const FrameworkGraph& graph = executor_.lowered().graph;
  for (TensorId id : graph.outputs) {
    if (executor_.value(id) != nullptr) calls_.calls().MarkLeaving(executor_.value(id));
  }
  trace_->calls = calls_.calls().region();
  trace_->saved = SavedByNodes(m_, graph, saved_by_);
}

void StepTracer::FinishBackward() {
  for (size_t i = 0; i < saved_by_.size(); ++i) {
    const eager::AutogradNode& node = m_.node(saved_by_[i]);
    trace_->saved[i].begin = node.begin;
    trace_->saved[i].fits = node.fits;
    trace_->saved[i].end = node.end;
  }
}

}  // namespace onnx_mem
