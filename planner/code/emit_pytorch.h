// A plan -> Python that applies it: its apply_plan(model) puts the plan's modules in torch.utils.checkpoint
// (non-reentrant, early stop). It imports the package, or is one file without imports of ours: there
// python/onnx_mem/_checkpoint/applied.py follows the plan's entries, word for word, with a restore(model).
//
//   [["layer1"], ["layer2.0", "layer2.1"]]  ->  PLAN = [
//                                                   {"modules": ["layer1"], "preserve_rng_state": False},
//                                                   {"modules": ["layer2.0", "layer2.1"], "preserve_rng_state": False},
//                                               ]
//
// How each entry is put on the model: its only module's forward is wrapped; a run of an nn.Sequential's children
// becomes one call in the Sequential's forward; of any other run the first module's call begins it and the others' join
// it, each with the arguments that it was called with, which the second run repeats. BatchNorms of the plan leave their
// running statistics alone when they run a second time. Segments that only an edit of forward can wrap are named in a
// comment and left out.
#ifndef ONNX_MEM_PLANNER_CODE_EMIT_PYTORCH_H_
#define ONNX_MEM_PLANNER_CODE_EMIT_PYTORCH_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/analysis/analysis.h"
#include "analyzer/analysis/enact.h"
#include "analyzer/graph/diagnostic.h"
#include "planner/measure/plan.h"

namespace onnx_mem {

struct EmittedCode {
  std::string text;
  std::vector<Diagnostic> diagnostics;  // edit-forward: segments that the code leaves out
};

// What a plan was made for, and what its times are for.
struct MadeFor {
  std::string card;
  std::string optimizer;
  std::optional<int64_t> budget_bytes = {};
  BudgetLine budget_line = BudgetLine::kDevice;
  std::optional<SpreadPlan> spread = {};  // over several cards: what a rank sets up
};

enum class CodeForm { kImports, kAlone };

// `lowered` is the model as Prepare gives it, `baseline` what it takes without any plan. Errors: those of WrappingOf
// and CheckSetup.
absl::StatusOr<EmittedCode> EmitPytorch(const Lowered& lowered, const ModelInfo& info, const Measured& baseline,
                                        const ModulePlan& plan, const MadeFor& made_for, CodeForm form);

// The same plan as a file for `onnx-mem MODEL --plan FILE`.
std::string EmitPlanJson(const ModelInfo& info, const ModulePlan& plan,
                         const std::optional<SpreadPlan>& spread = std::nullopt);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_CODE_EMIT_PYTORCH_H_
