#include "analyzer/assume/table/assumptions.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "analyzer/assume/choices/inplace.h"
#include "analyzer/assume/names/releases.h"
#include "analyzer/graph/shape.h"
#include "analyzer/lower/draft/inplace_form.h"
#include "analyzer/lower/facts/parameters.h"

namespace onnx_mem {
namespace {

constexpr double kUsualDropout = 0.1;

// --- the runs in which a fact is the other way

void DropNothing(Run& run) { run.dropout = 0.0; }
void DropAtUsualPlaces(Run& run) { run.dropout = kUsualDropout; }
void DropEverywhere(Run& run) {
  run.dropout = kUsualDropout;
  run.dropout_everywhere = true;
}
void Share(Run& run) { run.tied = TiedMode::kYes; }
void KeepApart(Run& run) { run.tied = TiedMode::kNo; }
void WriteNothingOver(Run& run) { run.inplace = "none"; }
void WriteOverAll(Run& run) { run.inplace = "all"; }
void UnfoldAll(Run& run) { run.batch_norm = BatchNormMode::kUnfold; }
void FreezeScales(Run& run) { run.freeze_scales = true; }
void SpellOutSilu(Run& run) { run.disabled_rewrites.emplace_back("silu"); }
void SpellOutHardswish(Run& run) { run.disabled_rewrites.emplace_back("hardswish"); }
void SpellOutMish(Run& run) { run.disabled_rewrites.emplace_back("mish"); }
void SpellOutGlu(Run& run) { run.disabled_rewrites.emplace_back("glu"); }
void SpellOutFunctions(Run& run) { run.disabled_rewrites.emplace_back("custom-function"); }
void KeepNothingInFunctions(Run& run) { run.disabled_rewrites.emplace_back("function-inputs"); }

// --- the lowered models in which it is

// Each operator that may writes over its input.
void WriteOverEverything(Lowered& lowered) { MarkAllInPlace(lowered.graph); }

// Each makes a new tensor, but where a source line shows that it does not.
void WriteOverNothing(Lowered& lowered) {
  for (Node& node : lowered.graph.nodes) {
    if (IntAttribute(node, "inplace", 0) != kInPlaceBySource) node.attributes.erase("inplace");
  }
}

// At the least, calls hold what they are given.
void NameNothing(Lowered& lowered) {
  lowered.releases = names::ReleaseAfter(lowered.graph, names::NameRules::kArguments);
}

// At most, every value has a name of its own in the function that made it.
void NameEverything(Lowered& lowered) {
  lowered.releases = names::ReleaseAfter(lowered.graph, names::NameRules::kEveryName);
}

// Values that the exporter computed (a table of position biases, a mask, a rotary table). They are counted as
// buffers, which live from the start; code that keeps none makes each where it is read, of what is smaller.
int64_t ComputedBytes(const Lowered& lowered) {
  int64_t bytes = 0;
  for (TensorId id(0); lowered.folds_values && lowered.graph.tensors.contains(id); id = TensorId(id.value() + 1)) {
    const Tensor& tensor = lowered.graph.tensors[id];
    if (lowered.kinds[id] != TensorKind::kBuffer || tensor.producer.valid()) continue;
    const bool is_made_up = IsExporterName(tensor.name) || !FoldedCall(tensor.name).empty();
    if (is_made_up) bytes += NumBytes(tensor.shape, tensor.dtype).value_or(0);
  }
  return bytes;
}

bool IsInPlaceOpen(const Run& run) { return run.inplace.empty() || run.inplace == "auto"; }
bool IsAlwaysOpen(const Run&) { return true; }

constexpr Alternative kAnyInPlace[] = {
    {.towards = Towards::kLess, .lowered = WriteOverEverything},
    {.towards = Towards::kMore, .lowered = WriteOverNothing},
};
constexpr Alternative kNames[] = {
    {.towards = Towards::kLess, .lowered = NameNothing},
    {.towards = Towards::kMore, .lowered = NameEverything},
};
constexpr Alternative kComputed[] = {{.towards = Towards::kLess, .bytes = ComputedBytes}};
constexpr Alternative kDropoutTaken[] = {
    {.words = "with --dropout file", .run = DropNothing},
    {.words = "with one behind every activation as well", .usual = false, .run = DropEverywhere},
};
constexpr Alternative kDropoutLost[] = {
    {.words = "with --dropout 0.1", .run = DropAtUsualPlaces},
    {.words = "with one behind every activation as well", .usual = false, .run = DropEverywhere},
};
constexpr Alternative kApart[] = {{.words = "with --tied no", .run = KeepApart}};
constexpr Alternative kShared[] = {{.words = "with --tied yes", .run = Share}};
constexpr Alternative kUnfolded[] = {{.words = "with --bn unfold", .run = UnfoldAll}};
constexpr Alternative kFrozen[] = {{.words = "with these frozen", .usual = false, .run = FreezeScales}};
constexpr Alternative kNotInPlace[] = {{.words = "with --inplace none", .run = WriteNothingOver}};
constexpr Alternative kInPlace[] = {{.words = "with --inplace all", .run = WriteOverAll}};
constexpr Alternative kSilu[] = {{.words = "with --no-rewrite silu", .usual = false, .run = SpellOutSilu}};
constexpr Alternative kHardswish[] = {
    {.words = "with --no-rewrite hardswish", .usual = false, .run = SpellOutHardswish}};
constexpr Alternative kMish[] = {{.words = "with --no-rewrite mish", .usual = false, .run = SpellOutMish}};
constexpr Alternative kGlu[] = {{.words = "with --no-rewrite glu", .usual = false, .run = SpellOutGlu}};
constexpr Alternative kFunctions[] = {
    {.words = "with --no-rewrite custom-function", .run = SpellOutFunctions},
    {.words = "with --no-rewrite function-inputs", .usual = false, .run = KeepNothingInFunctions},
};

// In the order in which alternatives are taken together: what a graph does before who holds its values.
constexpr Assumption kAssumptions[] = {
    {.fact = "dropout", .code = "dropout-assumed", .inference = false, .alternatives = kDropoutTaken},
    {.fact = "dropout", .code = "eval-dropout", .inference = false, .alternatives = kDropoutLost},
    {.fact = "tied head", .code = "tied-weights", .alternatives = kApart},
    {.fact = "tied head", .code = "maybe-tied", .alternatives = kShared},
    {.fact = "folded BatchNorm", .code = "bn-undecided", .alternatives = kUnfolded},
    {.fact = "trained or not", .code = "trained-undecided", .inference = false, .alternatives = kFrozen},
    {.fact = "in-place activations", .code = "inplace-assumed", .inference = false, .alternatives = kNotInPlace},
    {.fact = "in-place activations", .code = "inplace-possible", .inference = false, .alternatives = kInPlace},
    {.fact = "SiLU", .code = "silu-assumed", .alternatives = kSilu},
    {.fact = "Hardswish", .code = "hardswish-assumed", .alternatives = kHardswish},
    {.fact = "Mish", .code = "mish-assumed", .alternatives = kMish},
    {.fact = "GLU", .code = "glu-assumed", .alternatives = kGlu},
    {.fact = "custom functions", .code = "custom-function", .alternatives = kFunctions},
    {.fact = "in-place activations", .training = false, .alternatives = kAnyInPlace, .open = IsInPlaceOpen},
    {.fact = "what the exporter computed", .training = false, .alternatives = kComputed, .open = IsAlwaysOpen},
    {.fact = "names of values", .forward_only = true, .alternatives = kNames, .open = IsAlwaysOpen},
};

std::string DropoutSetting(const Run& run) {
  if (!run.dropout) return "";
  if (*run.dropout == 0.0) return "file";
  return absl::StrCat(*run.dropout, run.dropout_behind.empty() ? "" : ":", run.dropout_behind);
}

std::string InPlaceSetting(const Run& run) { return run.inplace; }

std::string AttentionSetting(const Run& run) {
  switch (run.attention) {
    case AttentionKernel::kAuto: return "auto";
    case AttentionKernel::kEager: return "eager";
    case AttentionKernel::kMath: return "math";
    case AttentionKernel::kFlash: return "flash";
    case AttentionKernel::kEfficient: return "efficient";
  }
  return "auto";
}

std::string BatchNormSetting(const Run& run) {
  switch (run.batch_norm) {
    case BatchNormMode::kAuto: return "auto";
    case BatchNormMode::kAsIs: return "as-is";
    case BatchNormMode::kUnfold: return "unfold";
  }
  return "auto";
}

constexpr AssumedSetting kSettings[] = {
    {.option = "dropout", .inference = false, .value = DropoutSetting},
    {.option = "inplace", .value = InPlaceSetting},
    {.option = "attention", .of_records = true, .value = AttentionSetting},
    {.option = "bn", .inference = false, .value = BatchNormSetting},
};

}  // namespace

std::span<const Assumption> Assumptions() { return kAssumptions; }

const Assumption* FindAssumption(std::string_view code) {
  if (code.empty()) return nullptr;
  const auto rows = Assumptions();
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const Assumption& a) { return a.code == code; });
  return row == rows.end() ? nullptr : &*row;
}

std::span<const AssumedSetting> AssumedSettings() { return kSettings; }

}  // namespace onnx_mem
