#include "library/asked_options.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"
#include "cli/options/option_values.h"

namespace onnx_mem::api {
namespace {

// Words of the fields that are not at their defaults.
class WordList {
 public:
  void Text(std::string_view option, const std::string& value, const std::string& unless) {
    if (value != unless) words_.emplace_back(option, value);
  }
  void Texts(std::string_view option, const std::vector<std::string>& values) {
    for (const std::string& value : values) words_.emplace_back(option, value);
  }
  void Number(std::string_view option, int64_t value, int64_t unless) {
    if (value != unless) words_.emplace_back(option, absl::StrCat(value));
  }
  void Number(std::string_view option, const std::optional<int64_t>& value) {
    if (value) words_.emplace_back(option, absl::StrCat(*value));
  }
  void Bytes(std::string_view option, const std::optional<int64_t>& bytes) {
    if (bytes) words_.emplace_back(option, absl::StrCat(*bytes, "B"));
  }
  void Percent(std::string_view option, const std::optional<double>& fraction) {
    if (fraction) words_.emplace_back(option, absl::StrFormat("%.15g", 100 * *fraction));
  }
  void Seconds(std::string_view option, double seconds, double unless) {
    if (seconds != unless) words_.emplace_back(option, absl::StrFormat("%.15g", seconds));
  }
  void Flag(std::string_view option, bool value) {
    if (value) words_.emplace_back(option, "");
  }
  OptionWords Take() { return std::move(words_); }

 private:
  OptionWords words_;
};

std::string InputText(const std::string& name, const std::vector<int64_t>& dims) {
  return absl::StrCat(name, "=", dims.empty() ? "scalar" : absl::StrJoin(dims, "x"));
}

const OptionRow* RowNamed(std::string_view long_name) {
  const absl::Span<const OptionRow> rows = OptionRows();
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const OptionRow& row) { return row.long_name == long_name; });
  return found == rows.end() ? nullptr : &*found;
}

absl::Status ApplyWord(std::string_view command, CommandSet bit, std::string_view name, const std::string& value,
                       onnx_mem::Options& options) {
  const OptionRow* row = RowNamed(name);
  if (row == nullptr) return absl::InternalError(absl::StrFormat("no option is called %s", name));
  if ((row->commands & bit) == 0) {
    return UsageError(absl::StrFormat("option '%s' is not one of '%s'", name, command));
  }
  if (value.empty() && !row->value.empty()) return UsageError(absl::StrFormat("%s needs a value", name));
  const absl::Status status = row->apply(value, options);
  if (status.ok()) return status;
  const Diagnostic diagnostic = DiagnosticOf(status);
  return ErrorStatus(status.code(), diagnostic.code, absl::StrFormat("%s: %s", name, diagnostic.message),
                     diagnostic.details);
}

// As a file of --plan is read: names of nodes stand beside modules for readers.
std::vector<onnx_mem::Segment> SegmentsOf(const std::vector<Segment>& segments) {
  std::vector<onnx_mem::Segment> plan;
  for (const Segment& segment : segments) {
    onnx_mem::Segment& planned = plan.emplace_back();
    planned.modules = segment.modules;
    planned.keep = segment.keep;
    if (segment.modules.empty()) planned.nodes = segment.nodes;
  }
  return plan;
}

// As --plan where the command takes it, which tells what it costs too, else as --segment.
absl::Status ApplySegments(CommandSet bit, const std::vector<Segment>& segments, onnx_mem::Options& options) {
  if (segments.empty()) return absl::OkStatus();
  for (const Segment& segment : segments) {
    if (segment.modules.empty() && segment.nodes.empty()) return UsageError("a segment names no modules or nodes");
  }
  const OptionRow* plan = RowNamed("--plan");
  if (plan != nullptr && (plan->commands & bit) != 0) {
    options.plan = SegmentsOf(segments);
  } else {
    options.workload.run.segments = SegmentsOf(segments);
  }
  return absl::OkStatus();
}

}  // namespace

OptionWords WordsOf(const Workload& workload) {
  const Workload unless;
  WordList words;
  if (!workload.batches.empty()) words.Text("--batch", absl::StrJoin(workload.batches, ","), "");
  for (const auto& [name, size] : workload.dims) words.Text("--dim", absl::StrCat(name, "=", size), "");
  for (const auto& [name, dims] : workload.inputs) words.Text("--input", InputText(name, dims), "");
  words.Text("--mode", workload.mode, unless.mode);
  words.Text("--dtype", workload.dtype, unless.dtype);
  words.Text("--amp", workload.amp, unless.amp);
  words.Text("--optimizer", workload.optimizer, unless.optimizer);
  words.Text("--optimizer-impl", workload.optimizer_impl, unless.optimizer_impl);
  words.Flag("--weight-decay", workload.weight_decay);
  words.Number("--accumulate", workload.accumulate, unless.accumulate);
  words.Text("--loss", workload.loss, unless.loss);
  words.Texts("--freeze", workload.freeze);
  words.Texts("--lora", workload.lora);
  words.Text("--base-bits", workload.base_bits, unless.base_bits);
  words.Texts("--requires-grad", workload.requires_grad);
  words.Texts("--hold", workload.hold);
  words.Texts("--checkpointed", workload.checkpointed);
  words.Text("--inplace", workload.inplace, unless.inplace);
  words.Text("--attention", workload.attention, unless.attention);
  words.Text("--bn", workload.bn, unless.bn);
  words.Text("--dropout", workload.dropout, unless.dropout);
  words.Text("--tied", workload.tied, unless.tied);
  words.Texts("--no-rewrite", workload.no_rewrite);
  words.Text("--for", workload.runtime, unless.runtime);
  words.Text("--device", workload.device, unless.device);
  words.Number("--sessions", workload.sessions, unless.sessions);
  words.Text("--allocator", workload.allocator, unless.allocator);
  words.Text("--torch", workload.torch, unless.torch);
  words.Flag("--cudnn-benchmark", workload.cudnn_benchmark);
  words.Text("--gpu", workload.gpu, unless.gpu);
  words.Bytes("--gpu-memory", workload.gpu_memory_bytes);
  words.Bytes("--budget", workload.budget_bytes);
  words.Text("--cost", workload.cost_file, unless.cost_file);
  return words.Take();
}

OptionWords WordsOf(const Listing& listing) {
  WordList words;
  words.Text("--by", listing.by, "");
  words.Number("--top", listing.top);
  words.Flag("--verbose", listing.verbose);
  return words.Take();
}

OptionWords WordsOf(const PlanOptions& plan) {
  const PlanOptions unless;
  WordList words;
  words.Text("--method", plan.method, unless.method);
  words.Text("--granularity", plan.granularity, unless.granularity);
  words.Text("--budget-on", plan.budget_on, unless.budget_on);
  words.Text("--cost-in", plan.cost_in, unless.cost_in);
  words.Percent("--max-slowdown", plan.max_slowdown);
  words.Flag("--max-batch", plan.max_batch);
  words.Flag("--offload", plan.offload);
  words.Bytes("--host-memory", plan.host_memory_bytes);
  words.Seconds("--time-limit", plan.time_limit_s, unless.time_limit_s);
  words.Number("--iterations", plan.iterations, unless.iterations);
  return words.Take();
}

absl::StatusOr<onnx_mem::Options> OptionsOf(std::string_view command, CommandSet bit, std::vector<std::string> operands,
                                            const Workload& workload, const OptionWords& words) {
  onnx_mem::Options options;
  options.command = command;
  options.operands = std::move(operands);
  for (const OptionWords& list : {WordsOf(workload), words}) {
    for (const auto& [name, value] : list) RETURN_IF_ERROR(ApplyWord(command, bit, name, value, options));
  }
  RETURN_IF_ERROR(ApplySegments(bit, workload.segments, options));
  SettleRuntime(options);
  RETURN_IF_ERROR(CheckTogether(options));
  return options;
}

}  // namespace onnx_mem::api
