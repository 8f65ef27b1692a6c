// What a replay reads of a program: sizes and lives, and the names of what stays from one run to the next. A seventh of
// a program's bytes, of which a run reads most again and again.
#ifndef ONNX_MEM_ANALYZER_ALLOCATORS_REPLAY_SCRIPT_H_
#define ONNX_MEM_ANALYZER_ALLOCATORS_REPLAY_SCRIPT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/graph/shared_text.h"
#include "analyzer/memory/program.h"

namespace onnx_mem {

struct ReplayedLife {
  int64_t bytes = 0;
  StepId begin;
  StepId end;
  int32_t name = -1;  // of what survives
  Category category = Category::kTransientActivations;
  bool fixed = false;     // there before the first step, and kept
  bool survives = false;  // fixed, or state that appears late in step 1 and is fixed in all others
};

class ReplayScript {
 public:
  explicit ReplayScript(const MemoryProgram& program);
  // What is requested beside the program's buffers, behind them.
  void Add(int64_t bytes, StepId begin, StepId end);
  // The same, from `begin` on in this run and in all that come after it, in which it begins at step 0.
  void AddKept(int64_t bytes, StepId begin, std::string_view name);

  size_t num_steps() const { return num_steps_; }
  size_t size() const { return lives_.size(); }
  BufferId end() const { return lives_.next_id(); }
  const ReplayedLife& operator[](BufferId id) const { return lives_[id]; }
  const std::string& NameOf(const ReplayedLife& life) const { return names_[static_cast<size_t>(life.name)].str(); }

 private:
  size_t num_steps_;
  IdVector<BufferId, ReplayedLife> lives_;
  std::vector<SharedText> names_;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ALLOCATORS_REPLAY_SCRIPT_H_
