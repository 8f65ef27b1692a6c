#include "planner/measure/step_graph.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/measure/index.h"

namespace onnx_mem {
namespace {

bool IsActivation(const Buffer& buffer) {
  return buffer.category == Category::kSavedActivations || buffer.category == Category::kTransientActivations;
}

bool IsStatic(const Buffer& buffer) {
  return buffer.category == Category::kParameters || buffer.category == Category::kBuffers ||
         buffer.category == Category::kInputs;
}

std::string NameOfStep(const Step& step) {
  const std::string& place = step.module.empty() ? step.node : step.module;
  return absl::StrCat(step.op.str(), place.empty() ? "" : absl::StrCat(" of ", place), " (",
                      std::string(NameOf(step.phase)), ")");
}

class Builder {
 public:
  Builder(const StepTrace& trace, const std::vector<int64_t>& cost)
      : trace_(trace),
        program_(trace.enacted.program),
        cost_(cost),
        maker_(program_.buffers.size(), -1),
        tensor_(program_.buffers.size()) {}

  StepGraph Build(int64_t always_bytes) {
    FindPhases();
    FindMakers();
    JoinInPlace();
    graph_.base_bytes = always_bytes;
    for (const Buffer& buffer : program_.buffers) {
      if (IsStatic(buffer)) graph_.base_bytes += buffer.bytes;
    }
    AddForwardOps();
    AddLaterOps();
    AddForwardReads();
    AddLaterReads();
    return std::move(graph_);
  }

 private:
  const Buffer& buffer(int32_t b) const { return program_.buffers[BufferId(b)]; }
  int32_t buffer_count() const { return static_cast<int32_t>(program_.buffers.size()); }
  int32_t step_count() const { return static_cast<int32_t>(program_.steps.size()); }
  int32_t run_count() const { return static_cast<int32_t>(trace_.forward.size()); }
  const NodeTrace& run(int32_t r) const { return trace_.forward[Index(r)]; }

  void FindPhases() {
    first_later_ = 0;
    while (first_later_ < step_count() && program_.steps[StepId(first_later_)].phase == Phase::kForward) ++first_later_;
  }

  // Run (index into trace.forward) whose steps made each activation; -1 for everything else.
  void FindMakers() {
    std::vector<int32_t> run_of_step(Index(step_count()), -1);
    for (int32_t r = 0; r < run_count(); ++r) {
      for (int32_t s = run(r).begin.value(); s < run(r).end.value(); ++s) run_of_step[Index(s)] = r;
    }
    for (int32_t b = 0; b < buffer_count(); ++b) {
      if (!IsActivation(buffer(b)) || buffer(b).begin.value() >= first_later_) continue;
      maker_[Index(b)] = run_of_step[Index(buffer(b).begin.value())];
    }
  }

  int32_t Group(int32_t r) const { return group_[Index(r)]; }

  // Runs that write over a buffer, with its maker. A view, which runs no step, writes nothing.
  void JoinInPlace() {
    group_.resize(Index(run_count()));
    std::iota(group_.begin(), group_.end(), 0);
    for (int32_t r = 0; r < run_count(); ++r) {
      if (run(r).begin == run(r).end) continue;
      for (BufferId b : run(r).writes) {
        const int32_t maker = maker_[Index(b.value())];
        const bool read = std::find(run(r).reads.begin(), run(r).reads.end(), b) != run(r).reads.end();
        if (maker < 0 || maker == r || !read) continue;
        overwritten_at_[b.value()] = r;
        const int32_t from = std::max(Group(maker), Group(r)), to = std::min(Group(maker), Group(r));
        std::replace(group_.begin(), group_.end(), from, to);
      }
    }
  }

  // Buffers that outlive the run that made them.
  bool Outlives(int32_t b) const { return buffer(b).end > run(maker_[Index(b)]).end; }

  void AddForwardOps() {
    std::map<int32_t, std::vector<int32_t>> runs_of, buffers_of;
    for (int32_t r = 0; r < run_count(); ++r) {
      if (run(r).begin != run(r).end) runs_of[Group(r)].push_back(r);
    }
    for (int32_t b = 0; b < buffer_count(); ++b) {
      if (maker_[Index(b)] >= 0) buffers_of[Group(maker_[Index(b)])].push_back(b);
    }
    op_of_group_.assign(Index(run_count()), StepOpId());
    for (const auto& [group, runs] : runs_of) {
      StepOp op;
      op.name = NameOfStep(program_.steps[run(runs.front()).begin]);
      op.kind = StepOpKind::kForward;
      for (int32_t r : runs) {
        for (int32_t s = run(r).begin.value(); s < run(r).end.value(); ++s) op.cost += cost_[Index(s)];
      }
      AddOutputs(runs, buffers_of[group], op);
      op_of_group_[Index(group)] = graph_.ops.Add(std::move(op));
    }
  }

  // What a node of several steps makes on its way for autograd alone is gone behind its step under checkpointing.
  int32_t CertainEnd(int32_t b) const {
    const std::vector<BufferId>& writes = run(maker_[Index(b)]).writes;
    const bool returned = std::find(writes.begin(), writes.end(), BufferId(b)) != writes.end();
    return returned || !Outlives(b) ? buffer(b).end.value() : buffer(b).begin.value() + 1;
  }

  // The most that `buffers` take together in a step of `runs`, which stand in order.
  int64_t MostAlive(const std::vector<int32_t>& runs, const std::vector<int32_t>& buffers) const {
    std::vector<std::pair<int32_t, int64_t>> changes;  // from this step on, so many bytes more
    for (int32_t b : buffers) {
      changes.emplace_back(buffer(b).begin.value(), buffer(b).bytes);
      changes.emplace_back(CertainEnd(b), -buffer(b).bytes);
    }
    std::sort(changes.begin(), changes.end());
    int64_t live = 0, most = 0;
    size_t next = 0;
    for (int32_t r : runs) {
      for (int32_t s = run(r).begin.value(); s < run(r).end.value(); ++s) {
        for (; next < changes.size() && changes[next].first <= s; ++next) live += changes[next].second;
        most = std::max(most, live);
      }
    }
    return most;
  }

  // Outputs of a forward operator, and what it needs beside them. Never more in all than was alive at one time.
  void AddOutputs(const std::vector<int32_t>& runs, const std::vector<int32_t>& buffers, StepOp& op) {
    const int64_t most = MostAlive(runs, buffers);
    int64_t outputs = 0;
    for (int32_t b : buffers) {
      if (!Outlives(b)) continue;
      const int64_t bytes = std::min(buffer(b).bytes, most - outputs);
      outputs += bytes;
      tensor_[Index(b)] = graph_.tensors.Add({.name = buffer(b).name, .size_bytes = bytes});
      op.outputs.push_back(tensor_[Index(b)]);
    }
    op.work_bytes = most - outputs;
  }

  void AddLaterOps() {
    for (int32_t s = first_later_; s < step_count(); ++s) {
      StepOp op;
      op.name = NameOfStep(program_.steps[StepId(s)]);
      op.kind = StepOpKind::kBackward;
      op.cost = cost_[Index(s)];
      graph_.ops.Add(std::move(op));
    }
    for (int32_t b = 0; b < buffer_count(); ++b) {
      const int32_t begin = buffer(b).begin.value(), end = buffer(b).end.value();
      if (begin < first_later_ || IsStatic(buffer(b))) continue;
      if (end == begin + 1) {
        graph_.ops[LaterOp(begin)].work_bytes += buffer(b).bytes;
        continue;
      }
      const bool stays = end >= step_count();
      const StepTensorId tensor =
          graph_.tensors.Add({.name = buffer(b).name,
                              .size_bytes = buffer(b).bytes,
                              .kind = stays ? StepTensorKind::kParameterGradient : StepTensorKind::kGradient});
      graph_.ops[LaterOp(begin)].outputs.push_back(tensor);
      if (!stays) Read(LaterOp(end - 1), tensor);
    }
  }

  StepOpId LaterOp(int32_t step) const {
    const auto later = step_count() - first_later_;
    return StepOpId(static_cast<int32_t>(graph_.ops.size()) - later + step - first_later_);
  }

  void Read(StepOpId op, StepTensorId tensor) {
    auto& inputs = graph_.ops[op].inputs;
    const std::vector<StepTensorId> entry = {tensor};
    if (std::find(inputs.begin(), inputs.end(), entry) == inputs.end()) inputs.push_back(entry);
  }

  // Operators that must have run before `op` can.
  bool DependsOn(StepOpId op, StepOpId on) const {
    std::vector<StepOpId> stack = {op};
    std::set<StepOpId> seen = {op};
    while (!stack.empty()) {
      const StepOpId at = stack.back();
      stack.pop_back();
      if (at == on) return true;
      const auto before = before_.find(at);
      if (before == before_.end()) continue;
      for (StepOpId next : before->second) {
        if (seen.insert(next).second) stack.push_back(next);
      }
    }
    return false;
  }

  // Edges that follow the order of the operators first; those that do not (an operator that works in place on what was
  // made long before) only where they close no circle.
  void AddForwardReads() {
    std::vector<int32_t> last_run(Index(run_count()), -1);
    for (int32_t r = 0; r < run_count(); ++r) last_run[Index(Group(r))] = r;
    for (const bool in_order : {true, false}) {
      for (int32_t r = 0; r < run_count(); ++r) {
        if (run(r).begin == run(r).end) continue;
        for (BufferId b : run(r).reads) AddForwardRead(r, b.value(), last_run, in_order);
      }
    }
  }

  void AddForwardRead(int32_t r, int32_t b, const std::vector<int32_t>& last_run, bool in_order) {
    const int32_t maker = maker_[Index(b)];
    if (maker < 0 || !tensor_[Index(b)].valid() || Group(maker) == Group(r)) return;
    if ((last_run[Index(Group(maker))] < Group(r)) != in_order) return;
    // What is overwritten later was read before in another state.
    const auto overwritten = overwritten_at_.find(b);
    if (overwritten != overwritten_at_.end() && overwritten->second > r) return;
    const StepOpId reader = op_of_group_[Index(Group(r))], writer = op_of_group_[Index(Group(maker))];
    if (!in_order && DependsOn(writer, reader)) return;
    Read(reader, tensor_[Index(b)]);
    before_[reader].insert(writer);
  }

  // What an autograd node saved is there for all that its formula does. It is not certain that it is when results are
  // fitted: then the node has it, but under checkpointing nobody.
  void AddLaterReads() {
    std::vector<int32_t> last(Index(buffer_count()));  // by buffer: the step that read it last
    for (int32_t b = 0; b < buffer_count(); ++b) last[Index(b)] = std::min(buffer(b).end.value(), step_count()) - 1;
    for (const SavedTrace& saved : trace_.saved) {
      const bool computes = saved.begin < saved.fits;
      for (BufferId b : saved.buffers) {
        int32_t& at = last[Index(b.value())];
        if (at >= saved.fits.value() && at < saved.end.value()) at = computes ? saved.fits.value() - 1 : -1;
        if (computes && buffer(b.value()).end > saved.begin) AddLaterRead(saved.begin.value(), b.value());
      }
    }
    for (int32_t b = 0; b < buffer_count(); ++b) AddLaterRead(last[Index(b)], b);
  }

  void AddLaterRead(int32_t step, int32_t b) {
    if (step >= first_later_ && maker_[Index(b)] >= 0 && tensor_[Index(b)].valid())
      Read(LaterOp(step), tensor_[Index(b)]);
  }

  const StepTrace& trace_;
  const MemoryProgram& program_;
  const std::vector<int64_t>& cost_;
  StepGraph graph_;
  int32_t first_later_ = 0;           // first step of loss or backward
  std::vector<int32_t> maker_;        // by buffer: run
  std::vector<StepTensorId> tensor_;  // by buffer
  std::vector<int32_t> group_;        // by run: first run of its operator
  std::vector<StepOpId> op_of_group_;
  std::map<int32_t, int32_t> overwritten_at_;  // buffer: last run that writes over it
  std::map<StepOpId, std::set<StepOpId>> before_;
};

}  // namespace

StepGraph StepGraphOf(const StepTrace& trace, const std::vector<int64_t>& cost, int64_t always_bytes) {
  return Builder(trace, cost).Build(always_bytes);
}

}  // namespace onnx_mem
