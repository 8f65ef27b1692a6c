#include "analyzer/assume/table/assumptions.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analyzer/assume/choices/attention_rows.h"
#include "analyzer/assume/choices/copies.h"
#include "analyzer/assume/choices/detached.h"
#include "analyzer/assume/choices/inplace.h"
#include "analyzer/assume/choices/loose_parameters.h"
#include "analyzer/assume/choices/written_out.h"
#include "analyzer/assume/names/releases.h"
#include "analyzer/assume/regions/auxiliary_outputs.h"
#include "analyzer/assume/regions/function_saves.h"
#include "analyzer/assume/regions/grad_regions.h"
#include "analyzer/assume/regions/own_checkpoints.h"
#include "analyzer/assume/table/contraction_order.h"
#include "analyzer/assume/table/kept_tables.h"
#include "analyzer/assume/table/margins.h"
#include "analyzer/assume/table/operand_order.h"
#include "analyzer/lower/draft/source_inplace.h"
#include "analyzer/ops/ops.h"

namespace onnx_mem {
namespace {

constexpr double kCommonDropout = 0.1;
constexpr std::string_view kMergedExpressions = "merged-expressions";

// --- the runs in which a fact is the other way

void DropNothing(Run& run) { run.dropout = 0.0; }
void DropAtCommonPlaces(Run& run) { run.dropout = kCommonDropout; }
void DropEverywhere(Run& run) {
  run.dropout = kCommonDropout;
  run.dropout_everywhere = true;
}
void Share(Run& run) { run.tied = TiedMode::kYes; }
void KeepApart(Run& run) { run.tied = TiedMode::kNo; }
void WriteNothingOver(Run& run) { run.inplace = "none"; }
void WriteOverAll(Run& run) { run.inplace = "all"; }
void UnfoldAll(Run& run) { run.batch_norm = BatchNormMode::kUnfold; }
void TakeAnyOrder(Run& run) { run.disabled_rewrites.emplace_back("operand-order"); }
void NameByModule(Run& run) { run.disabled_rewrites.emplace_back("opaque-names"); }
void SpellOutNorms(Run& run) { run.disabled_rewrites.emplace_back("layer-norm"); }
void LeaveMergedCalls(Run& run) { run.disabled_rewrites.emplace_back(kMergedExpressions); }
void SpellOutCells(Run& run) { run.disabled_rewrites.emplace_back("cells"); }
void FreezeScales(Run& run) { run.freeze_scales = true; }
void SpellOutSilu(Run& run) { run.disabled_rewrites.emplace_back("silu"); }
void SpellOutHardswish(Run& run) { run.disabled_rewrites.emplace_back("hardswish"); }
void SpellOutMish(Run& run) { run.disabled_rewrites.emplace_back("mish"); }
void SpellOutGlu(Run& run) { run.disabled_rewrites.emplace_back("glu"); }
void SpellOutFunctions(Run& run) { run.disabled_rewrites.emplace_back("custom-function"); }
void KeepNothingInFunctions(Run& run) { run.disabled_rewrites.emplace_back("function-inputs"); }

// --- the lowered models in which it is

bool WriteOverEverything(Lowered& lowered) { return MarkAllInPlace(lowered.graph) > 0; }

// Each makes a new tensor, but where a source line shows that it does not.
bool WriteOverNothing(Lowered& lowered) {
  size_t changed = 0;
  for (FrameworkNode& node : lowered.graph.nodes) {
    if (IntAttribute(node, "inplace", 0) != kInPlaceBySource) changed += node.attributes.erase("inplace");
  }
  return changed > 0;
}

bool Release(Lowered& lowered, names::NameRules rules) {
  IdVector<TensorId, int32_t> releases = names::ReleaseAfter(lowered.graph, rules);
  const bool changed = releases != lowered.releases;
  lowered.releases = std::move(releases);
  return changed;
}

// At the least, calls hold what they are given.
bool NameNothing(Lowered& lowered) { return Release(lowered, names::NameRules::kArguments); }

// At most, all the values that a function has done with still have names there.
bool NameEverything(Lowered& lowered) { return Release(lowered, names::NameRules::kEveryName); }

// And beyond that lists of them.
bool NameAllInCalls(Lowered& lowered) { return Release(lowered, names::NameRules::kWholeCalls); }

// Values that the exporter computed are counted as buffers, which live from the start; code that keeps none makes each
// where it is read, of what is smaller.
int64_t BytesOfComputed(const Lowered& lowered) { return lowered.computed_bytes; }
int64_t BytesOfUnread(const Lowered& lowered) { return -lowered.unread_parameter_bytes; }
int64_t BytesOfOwnCopies(const Lowered& lowered) { return -BytesOfMergedCopies(lowered); }
int64_t BytesOfUnreadBuffers(const Lowered& lowered) { return -lowered.unread_buffer_bytes; }

// A plan that keeps single calls names each as it runs, relu or relu_.
bool IsInPlaceOpen(const Run& run, const Lowered&) {
  const bool named = run.training && std::any_of(run.segments.begin(), run.segments.end(),
                                                 [](const Segment& s) { return s.by_call(); });
  return !named && (run.inplace.empty() || run.inplace == "auto");
}
bool IsNothingFrozen(const Run& run, const Lowered&) { return run.freeze.empty(); }
bool IsAttentionOpen(const Run& run, const Lowered&) { return run.attention == AttentionKernel::kAuto; }
// A file without a list of the module's parameters: nothing is said of what it has not.
bool IsNoneListed(const Run&, const Lowered& lowered) {
  return std::none_of(lowered.diagnostics.begin(), lowered.diagnostics.end(),
                      [](const Diagnostic& d) { return d.code == Code::kParameterUnread; });
}
// A file that lists the module's parameters and has them all.
bool IsAllListed(const Run&, const Lowered& lowered) { return ListingOf(lowered.assumptions) == FileListing::kWhole; }
// A file that lists parameters and has none of them: all that they led to is open.
bool IsNothingTrained(const Run&, const Lowered& lowered) {
  return std::find(lowered.kinds.begin(), lowered.kinds.end(), TensorKind::kParameter) == lowered.kinds.end();
}
bool HasSplitCalls(const Run&, const Lowered& lowered) {
  return std::any_of(lowered.plain_rewrites.begin(), lowered.plain_rewrites.end(),
                     [](const Diagnostic& d) { return d.rewrite == kMergedExpressions; });
}
bool IsAlwaysOpen(const Run&, const Lowered&) { return true; }
bool HasTrainingForm(const Run&, const Lowered& lowered) { return lowered.training_form; }
bool HasSwapped(const Run&, const Lowered& lowered) { return HasSwappedOperands(lowered); }
// An inference tells of no activation that it takes for the framework's own: nothing is saved. Code that spells it out
// makes a tensor more all the same.
template <const auto& kOp>
bool MayBeSpelledOut(const Run& run, const Lowered& lowered) {
  const auto& off = run.disabled_rewrites;
  return std::find(off.begin(), off.end(), kOp) == off.end() &&
         std::any_of(lowered.graph.nodes.begin(), lowered.graph.nodes.end(),
                     [](const FrameworkNode& node) { return node.op == kOp && node.framework_op.empty(); });
}
constexpr std::string_view kSiluOp = "silu", kHardswishOp = "hardswish", kMishOp = "mish", kGluOp = "glu";

constexpr Alternative kAnyInPlace[] = {
    {.towards = Towards::kLess, .convention = true, .lowered = WriteOverEverything},
    {.towards = Towards::kMore, .convention = true, .lowered = WriteOverNothing},
};
constexpr Alternative kNames[] = {
    {.towards = Towards::kLess, .convention = true, .lowered = NameNothing},
    {.towards = Towards::kMore, .convention = true, .lowered = NameEverything},
};
// In a training step what autograd keeps counts for most: that lists hold all values costs little width there.
constexpr Alternative kNamesOfTraining[] = {
    {.towards = Towards::kLess, .convention = true, .lowered = NameNothing},
    {.towards = Towards::kMore, .convention = true, .lowered = NameAllInCalls},
};
// Nothing bounds what was not counted at all: no verdict that needs the upper end is to be sure.
constexpr Alternative kMuchMore[] = {{.towards = Towards::kMore, .percent = [](const Lowered&) { return -300; }}};
constexpr Alternative kNowTrained[] = {{.towards = Towards::kMore, .lowered = TrainComputed}};
constexpr Alternative kMadeOf[] = {
    {.towards = Towards::kLess, .lowered = ShrinkMadeOf},
    {.towards = Towards::kMore, .lowered = CopyMadeOf},
};
constexpr Alternative kBesideTrained[] = {{.towards = Towards::kMore, .lowered = TrainBesideParameters}};
constexpr Alternative kComputed[] = {{.towards = Towards::kLess, .bytes = BytesOfComputed}};
constexpr Alternative kDropoutTaken[] = {
    {.words = "with --dropout file", .run = DropNothing},
    {.words = "with ones behind activations as well", .common = false, .run = DropEverywhere},
};
constexpr Alternative kDropoutLost[] = {
    {.words = "with --dropout 0.1", .run = DropAtCommonPlaces},
    {.words = "with ones behind activations as well", .common = false, .run = DropEverywhere},
};
constexpr Alternative kApart[] = {{.words = "with --tied no", .run = KeepApart}};
constexpr Alternative kShared[] = {{.words = "with --tied yes", .run = Share}};
constexpr Alternative kUnfolded[] = {{.words = "with --bn unfold", .run = UnfoldAll}};
constexpr Alternative kFrozen[] = {
    {.words = "with these frozen", .common = false, .run = FreezeScales},
    {.words = "with those in Constant nodes trained", .common = false, .lowered = TrainConstantWeights},
};
constexpr Alternative kSwapped[] = {{.words = "with --no-rewrite operand-order", .run = TakeAnyOrder}};
constexpr Alternative kOtherOrder[] = {{.words = "with operands swapped", .lowered = SwapOperands}};
constexpr Alternative kNamed[] = {
    {.words = "with --no-rewrite opaque-names", .common = false, .run = NameByModule},
    {.words = "with --bn unfold", .common = false, .run = UnfoldAll},
    {.words = "with --no-rewrite layer-norm", .common = false, .run = SpellOutNorms},
    {.words = "with --no-rewrite cells", .common = false, .run = SpellOutCells},
};
constexpr Alternative kNotInPlace[] = {{.words = "with --inplace none", .run = WriteNothingOver}};
constexpr Alternative kInPlace[] = {{.words = "with --inplace all", .run = WriteOverAll}};
constexpr Alternative kLooseFrozen[] = {{.towards = Towards::kLess, .lowered = FreezeLooseTables}};
constexpr Alternative kUnread[] = {{.towards = Towards::kMore, .bytes = BytesOfUnread}};
constexpr Alternative kUnreadBuffers[] = {{.towards = Towards::kMore, .bytes = BytesOfUnreadBuffers}};
constexpr Alternative kNoNoise[] = {{.towards = Towards::kLess, .lowered = LeaveOutNoise}};
constexpr Alternative kNoAuxiliary[] = {{.towards = Towards::kLess, .lowered = LeaveOutAuxiliary}};
constexpr Alternative kCheapestFirst[] = {{.lowered = ContractCheapestFirst}};
constexpr Alternative kNoCopies[] = {{.towards = Towards::kLess, .lowered = LeaveOutCopies}};
// A norm copies its gradient into the layout of what was not copied.
constexpr Alternative kNoCopiesOfTraining[] = {{.lowered = LeaveOutCopies}};
constexpr Alternative kMergedCalls[] = {{.run = LeaveMergedCalls}};
constexpr Alternative kOwnCopies[] = {{.towards = Towards::kMore, .bytes = BytesOfOwnCopies}};
constexpr Alternative kPromoted[] = {{.towards = Towards::kLess, .lowered = PromoteAsRead}};
constexpr Alternative kKeptTables[] = {{.towards = Towards::kOnlyLess, .lowered = KeepTables}};
constexpr Alternative kIntoBuffers[] = {{.towards = Towards::kLess, .lowered = WriteIntoBuffers}};
constexpr Alternative kFusedAttention[] = {{.lowered = MakeAttentionRowsDense}};
constexpr Alternative kWrittenOut[] = {{.towards = Towards::kLess, .bytes = BytesOfWrittenOut}};
constexpr Alternative kDetached[] = {{.towards = Towards::kLess, .bytes = BytesWithoutDetach}};
constexpr Alternative kOtherRegions[] = {{.lowered = TurnGradRegions}};
constexpr Alternative kSegmentsOfSequences[] = {{.towards = Towards::kLess, .lowered = CheckpointOpenSequences}};
constexpr Alternative kSilu[] = {{.words = "with --no-rewrite silu", .common = false, .run = SpellOutSilu}};
constexpr Alternative kHardswish[] = {
    {.words = "with --no-rewrite hardswish", .common = false, .run = SpellOutHardswish}};
constexpr Alternative kMish[] = {{.words = "with --no-rewrite mish", .common = false, .run = SpellOutMish}};
constexpr Alternative kGlu[] = {{.words = "with --no-rewrite glu", .common = false, .run = SpellOutGlu}};
constexpr Alternative kFunctions[] = {
    {.words = "with --no-rewrite custom-function", .run = SpellOutFunctions},
    {.words = "with --no-rewrite function-inputs", .common = false, .run = KeepNothingInFunctions},
};
constexpr Alternative kFunctionsKeepMade[] = {{.towards = Towards::kMore, .lowered = KeepMadeInFunctions}};

// In the order in which alternatives are taken together: what a graph does before who holds its values.
constexpr Assumption kAssumptions[] = {
    {.fact = "dropout", .code = Code::kDropoutAssumed, .inference = false, .alternatives = kDropoutTaken},
    {.fact = "dropout", .code = Code::kEvalDropout, .inference = false, .alternatives = kDropoutLost},
    {.fact = "tied head", .code = Code::kTiedWeights, .alternatives = kApart},
    {.fact = "tied head", .code = Code::kMaybeTied, .alternatives = kShared},
    {.fact = "folded BatchNorm", .code = Code::kBnUndecided, .alternatives = kUnfolded},
    {.fact = "trained or not", .code = Code::kTrainedUndecided, .inference = false, .alternatives = kFrozen},
    {.fact = "trained or not", .inference = false, .alternatives = kLooseFrozen, .open = IsNothingFrozen},
    {.fact = "parameters that are not in the file", .code = Code::kParameterUnread, .alternatives = kUnread},
    {.fact = "parameters that are not in the file", .alternatives = kUnread, .open = IsNoneListed},
    {.fact = "buffers that are not in the file", .alternatives = kUnreadBuffers, .open = IsAlwaysOpen},
    {.fact = "names of the file", .code = Code::kWeightNames, .alternatives = kNamed},
    {.fact = "order of operands", .alternatives = kSwapped, .open = HasSwapped},
    {.fact = "order of operands", .inference = false, .alternatives = kOtherOrder, .open = IsAlwaysOpen},
    {.fact = "order of einsum", .alternatives = kCheapestFirst, .open = IsAlwaysOpen},
    {.fact = "contiguous copies", .alternatives = kNoCopies, .open = IsAlwaysOpen},
    {.fact = "contiguous copies", .inference = false, .alternatives = kNoCopiesOfTraining, .open = IsAlwaysOpen},
    {.fact = "equal calls", .alternatives = kMergedCalls, .open = HasSplitCalls},
    {.fact = "equal calls", .alternatives = kOwnCopies, .open = IsAlwaysOpen},
    {.fact = "weights of training alone", .training = false, .alternatives = kNoNoise, .open = IsAlwaysOpen},
    {.fact = "outputs of training alone", .training = false, .alternatives = kNoAuxiliary, .open = HasTrainingForm},
    {.fact = "casts", .alternatives = kPromoted, .open = IsAlwaysOpen},
    {.fact = "writes into buffers", .training = false, .alternatives = kIntoBuffers, .open = IsAlwaysOpen},
    {.fact = "tables that are computed once", .alternatives = kKeptTables, .open = IsAlwaysOpen},
    {.fact = "attention kernel", .alternatives = kFusedAttention, .open = IsAttentionOpen},
    {.fact = "detach", .inference = false, .alternatives = kDetached, .open = IsAlwaysOpen},
    {.fact = "no_grad or autocast", .inference = false, .alternatives = kOtherRegions, .open = IsAlwaysOpen},
    {.fact = "segments of checkpoint_sequential",
     .inference = false,
     .alternatives = kSegmentsOfSequences,
     .open = IsAlwaysOpen},
    {.fact = "functions that are written out", .inference = false, .alternatives = kWrittenOut, .open = IsAlwaysOpen},
    {.fact = "in-place activations", .code = Code::kInplaceAssumed, .inference = false, .alternatives = kNotInPlace},
    {.fact = "in-place activations", .code = Code::kInplacePossible, .inference = false, .alternatives = kInPlace},
    {.fact = "SiLU", .code = Code::kSiluAssumed, .inference = false, .alternatives = kSilu},
    {.fact = "Hardswish", .code = Code::kHardswishAssumed, .inference = false, .alternatives = kHardswish},
    {.fact = "Mish", .code = Code::kMishAssumed, .inference = false, .alternatives = kMish},
    {.fact = "GLU", .code = Code::kGluAssumed, .inference = false, .alternatives = kGlu},
    {.fact = "custom functions", .code = Code::kCustomFunction, .alternatives = kFunctions},
    {.fact = "custom functions", .code = Code::kCustomFunction, .inference = false, .alternatives = kFunctionsKeepMade},
    {.fact = "SiLU", .training = false, .alternatives = kSilu, .open = MayBeSpelledOut<kSiluOp>},
    {.fact = "Hardswish", .training = false, .alternatives = kHardswish, .open = MayBeSpelledOut<kHardswishOp>},
    {.fact = "Mish", .training = false, .alternatives = kMish, .open = MayBeSpelledOut<kMishOp>},
    {.fact = "GLU", .training = false, .alternatives = kGlu, .open = MayBeSpelledOut<kGluOp>},
    {.fact = "in-place activations", .alternatives = kAnyInPlace, .open = IsInPlaceOpen},
    {.fact = "what the exporter computed", .alternatives = kComputed, .open = IsAlwaysOpen},
    {.fact = "what the exporter computed",
     .code = Code::kParameterUnread,
     .inference = false,
     .alternatives = kNowTrained},
    {.fact = "what the exporter computed", .code = Code::kParameterUnread, .alternatives = kMadeOf},
    {.fact = "what the exporter computed", .inference = false, .alternatives = kBesideTrained, .open = IsAllListed},
    {.fact = "parameters that are not in the file",
     .code = Code::kParameterUnread,
     .inference = false,
     .alternatives = kMuchMore,
     .open = IsNothingTrained},
    {.fact = "sizes that are not known", .code = Code::kShapeUnknown, .alternatives = kMuchMore},
    {.fact = "sizes that are not known", .code = Code::kUnknownSize, .alternatives = kMuchMore},
    {.fact = "operators that are not known", .code = Code::kCustomOp, .alternatives = kMuchMore},
    {.fact = "bodies of loops", .code = Code::kOpaqueSubgraph, .inference = false, .alternatives = kMuchMore},
    {.fact = "names of values",
     .inference = false,
     .forward_only = true,
     .alternatives = kNamesOfTraining,
     .open = IsAlwaysOpen},
    {.fact = "names of values", .training = false, .forward_only = true, .alternatives = kNames, .open = IsAlwaysOpen},
};

}  // namespace

std::span<const Assumption> Assumptions() { return kAssumptions; }

const Assumption* FindAssumption(Code code) {
  const auto rows = Assumptions();
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const Assumption& a) { return a.code == code; });
  return row == rows.end() ? nullptr : &*row;
}

}  // namespace onnx_mem
