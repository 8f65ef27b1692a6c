// Findings about the file itself: what its exporter baked in, lost or merged.
#include <algorithm>
#include <array>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "analyzer/check/rules.h"
#include "analyzer/compare/half_precision.h"
#include "analyzer/graph/bytes.h"
#include "analyzer/graph/dtype.h"
#include "analyzer/graph/suggest.h"
#include "analyzer/lower/facts/parameters.h"

namespace onnx_mem {
namespace {

std::string Number(int64_t count, std::string_view one, std::string_view many) {
  const std::string_view noun = count == 1 ? one : many;
  return absl::StrCat(count, " ", absl::string_view(noun.data(), noun.size()));
}

int64_t BytesOf(const Tensor& tensor) { return NumBytes(tensor.shape, tensor.dtype).value_or(0); }

// A batch that the export fixed, known by asking for another one.
std::optional<Diagnostic> BakedBatch(const CheckedExport& checked) {
  const auto reported = [](const Diagnostic& d) { return d.code == Code::kRebatched; };
  const std::vector<Diagnostic>& known = checked.analysis.diagnostics;
  if (std::any_of(known.begin(), known.end(), reported) || !checked.workload.bindings.inputs.empty())
    return std::nullopt;
  Bindings other = checked.workload.bindings;
  other.batch = 2 * checked.analysis.batch;
  const absl::StatusOr<Shared<ImportedModel>> larger = checked.study.Import(other);
  Diagnostic finding{.code = Code::kBakedBatch, .severity = Severity::kNote};
  if (!larger.ok()) {
    const Diagnostic error = DiagnosticOf(larger.status());
    if (error.code != Code::kStaticBatch) return std::nullopt;
    finding.severity = Severity::kWarning;
    finding.message =
        absl::StrCat("the batch of ", checked.analysis.batch, " is fixed in the file, and no other can be given");
    finding.details = {absl::StrCat("why: ", error.message), std::string(kExportRecipe)};
    return finding;
  }
  const std::vector<Diagnostic>& notes = (*larger)->diagnostics;
  const auto followed = std::find_if(notes.begin(), notes.end(), reported);
  if (followed == notes.end()) return std::nullopt;
  finding.count = followed->count;
  finding.severity = followed->severity;
  finding.message = absl::StrCat("the batch of ", checked.analysis.batch, " is fixed in the file; --batch makes ",
                                 Number(followed->count, "constant", "constants"), " follow another one");
  finding.details = {std::string(kExportRecipe)};
  return finding;
}

// A file that was made for another runtime is not exported anew for this one.
bool IsDeployed(const CheckedExport& checked) { return !checked.study.file().WhyDeployed().empty(); }

// Weights under names that an exporter made up ("onnx::MatMul_243").
std::optional<Diagnostic> LostNames(const CheckedExport& checked) {
  if (IsDeployed(checked)) return std::nullopt;
  Diagnostic finding{.code = Code::kWeightNames, .severity = Severity::kNote, .count = 0};
  int64_t bytes = 0;
  std::string first;
  for (const Parameter& parameter : checked.analysis.parameters) {
    if (!IsExporterName(parameter.name)) continue;
    if (finding.count++ == 0) first = parameter.name;
    bytes += parameter.bytes;
  }
  if (finding.count == 0) return std::nullopt;
  finding.bytes = bytes;
  finding.message = absl::StrCat(Number(finding.count, "parameter has a name", "parameters have names"),
                                 " of the exporter's making, such as '", first, "'");
  finding.details = {
      absl::StrCat("effect: ", FormatBytes(bytes), " of parameters; --freeze cannot name them as your code does"),
      std::string(kExportRecipe)};
  return finding;
}

// Operators that ran and that no module path places.
std::optional<Diagnostic> MissingModules(const CheckedExport& checked) {
  const RunFigures* part = MainFigures(checked.analysis);
  if (part == nullptr || IsDeployed(checked)) return std::nullopt;
  Diagnostic finding{.code = Code::kModulePaths, .severity = Severity::kNote, .count = 0};
  int64_t total = 0, bytes = 0;
  for (const Step& step : part->program->steps) {
    if (step.phase != Phase::kForward || step.recompute || step.node.empty()) continue;
    ++total;
    finding.count += step.module.empty() ? 1 : 0;
  }
  // The root's own operators have no path either: only a file without any is meant.
  if (total == 0 || finding.count < total) return std::nullopt;
  for (const Buffer& buffer : part->program->buffers) {
    const bool alive = buffer.begin <= part->timeline.peak_step && part->timeline.peak_step < buffer.end;
    if (alive && buffer.module.empty() && buffer.category == Category::kSavedActivations) bytes += buffer.bytes;
  }
  finding.bytes = bytes;
  finding.severity = Severity::kWarning;
  finding.message = "no operator has the path of its module";
  finding.details = {absl::StrCat("effect: ", FormatBytes(bytes), " of the ", checked.peak_name,
                                  " belong to no layer, and plan has nothing to wrap"),
                     "why: a tool that rewrote the file may have dropped them", std::string(kExportRecipe)};
  return finding;
}

// A node without attributes that passes one stored weight on as it is: two weights that were equal when exported.
bool PassesWeightOn(const Graph& graph, const Node& node) {
  if (node.inputs.size() != 1 || node.outputs.size() != 1 || !node.attributes.empty()) return false;
  if (!node.inputs[0].valid() || !node.outputs[0].valid()) return false;
  const Tensor &from = graph.tensors[node.inputs[0]], &to = graph.tensors[node.outputs[0]];
  return from.role == TensorRole::kInitializer && IsFloating(from.dtype) && from.dtype == to.dtype &&
         from.shape == to.shape;
}

std::optional<Diagnostic> MergedWeights(const CheckedExport& checked) {
  if (IsDeployed(checked)) return std::nullopt;
  const Graph& graph = *checked.analysis.graph;
  Diagnostic finding{.code = Code::kMergedWeights, .severity = Severity::kNote, .count = 0};
  int64_t bytes = 0;
  for (const Node& node : graph.nodes) {
    if (!PassesWeightOn(graph, node)) continue;
    ++finding.count;
    bytes += BytesOf(graph.tensors[node.outputs[0]]);
  }
  if (finding.count == 0) return std::nullopt;
  finding.bytes = bytes;
  finding.message = absl::StrCat(Number(finding.count, "weight equals", "weights equal"),
                                 " another one, and the exporter stored the two once");
  finding.details = {
      absl::StrCat("effect: ", FormatBytes(bytes), "; a model whose weights are equal before training has them twice"),
      std::string(kExportRecipe)};
  return finding;
}

std::optional<Diagnostic> Fp32Islands(const CheckedExport& checked) {
  const std::optional<HalfPrecision> half = FindHalfPrecision(*checked.analysis.graph);
  if (!half || (half->kept_fp32.empty() && half->casts.empty())) return std::nullopt;
  Diagnostic finding{.code = Code::kFp32Islands, .severity = Severity::kNote, .count = 0};
  int64_t bytes = 0, cast_bytes = 0;
  std::string names;
  for (const OperatorGroup& group : half->kept_fp32) {
    finding.count += group.count;
    bytes += group.bytes;
    if (finding.count == group.count || names.size() < 40)
      absl::StrAppend(&names, names.empty() ? "" : ", ", group.count, " ", group.op);
  }
  int64_t casts = 0;
  for (const OperatorGroup& group : half->casts) {
    casts += group.count;
    cast_bytes += group.bytes;
  }
  finding.bytes = bytes + cast_bytes;
  finding.message =
      absl::StrCat(Number(finding.count, "operator computes", "operators compute"), " in float32 in a model of ",
                   std::string(NameOf(half->dtype)), names.empty() ? "" : ": ", names);
  finding.details = {
      absl::StrCat("effect: at batch ", checked.analysis.batch, " their results take ", FormatBytes(bytes), ", and ",
                   Number(casts, "cast", "casts"), " round them ", FormatBytes(cast_bytes)),
      "way out: model.half() before the export, or the converter's list of operators that stay in float32"};
  return finding;
}

// What the file cannot say and this program took for granted: how much rides on it.
std::optional<Diagnostic> InPlaceTaken(const CheckedExport& checked) {
  if (checked.workload.run.inplace != "auto") return std::nullopt;
  Workload other = checked.workload;
  other.run.inplace = "none";
  const std::optional<int64_t> peak = PeakWith(checked, other);
  if (!peak || *peak <= checked.peak_bytes) return std::nullopt;
  Diagnostic finding{.code = Code::kInplaceAssumed, .severity = Severity::kNote};
  finding.bytes = *peak - checked.peak_bytes;
  finding.message = "activations right after a convolution, a norm or an addition are taken to run in place";
  finding.details = {
      absl::StrCat("effect: without, the ", checked.peak_name, " is ", FormatBytes(*finding.bytes), " more"),
      "try: ... --inplace none   # if your code has no inplace=True; or a pattern of the modules that have it"};
  return finding;
}

constexpr auto kFindingRows = std::to_array<FindingRow>({
    {Code::kBakedBatch, BakedBatch},
    {Code::kModulePaths, MissingModules},
    {Code::kWeightNames, LostNames},
    {Code::kMergedWeights, MergedWeights},
    {Code::kFp32Islands, Fp32Islands},
    {Code::kInplaceAssumed, InPlaceTaken},
});

}  // namespace

absl::Span<const FindingRow> FindingRows() { return kFindingRows; }

}  // namespace onnx_mem
