// Options -> whether they contradict each other; each alone was checked when it was parsed.
#include "absl/strings/str_format.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/runtimes/runtime.h"
#include "cli/options/layout_values.h"
#include "cli/options/option_values.h"
#include "cli/options/options.h"
#include "report/parts/formats.h"

namespace onnx_mem {
namespace {

// Formats that show the steps of one run have nothing to show of several, or of what has no steps.
absl::Status CheckOneRun(const Options& options) {
  const bool stepped = options.command == "analyze" || (options.command == "plan" && options.instance_file.empty());
  if (stepped && options.operands.size() <= 1 && options.batches.size() <= 1) return absl::OkStatus();
  std::vector<std::string> formats = {options.format};
  for (const Export& file : options.exports) formats.push_back(file.format);
  for (const std::string& format : formats) {
    if (!FormatNamed(format)->one_run) continue;
    return UsageError(absl::StrFormat("format %s shows the steps of one model at one batch", format),
                      {options.batches.size() > 1 ? TryOneBatch(options) : "way out: one model, or format html"});
  }
  return absl::OkStatus();
}

// A share of what is taken now: of one run, which the command knows before its answer.
absl::Status CheckBudgetShare(const Options& options) {
  if (!options.budget_percent) return absl::OkStatus();
  const std::vector<std::string> help = {"try: ... --budget 4GiB   # a size"};
  if (!options.instance_file.empty()) {
    return UsageError("--budget: a step graph's budget is a number in its own units",
                      {"try: ... --budget 4096   # of the graph's own units"});
  }
  if (options.command != "analyze" && options.command != "plan") {
    return UsageError(absl::StrFormat("--budget: %s takes a size; a share is of the present peak of one run, "
                                      "which analyze and plan take",
                                      options.command),
                      help);
  }
  if (options.batches.size() > 1) {
    return UsageError("--budget: a share of which run? It is of one model at one batch", {TryOneBatch(options)});
  }
  if (options.operands.size() > 1 || options.max_batch) {
    return UsageError("--budget: a share of which run? It is of one model at one batch", help);
  }
  return absl::OkStatus();
}

absl::Status CheckPackedBase(const Run& run) {
  constexpr char kPackedBase[] =
      "way out: --base-bits 4 with --lora RANK:REGEX or --freeze REGEX, which freeze the base";
  if (run.bitsandbytes.empty() || run.base_bits != BaseBits::kAsStored) return absl::OkStatus();
  return UsageError("--bitsandbytes is about --base-bits", {run.lora.empty() ? kPackedBase : "try: ... --base-bits 4"});
}

absl::Status CheckRuntime(const Options& options) {
  const Workload& workload = options.workload;
  const bool sessions = !RuntimeOf(workload).eager;
  if (options.runtime == Runtime::kOnnxruntime) {
    if (workload.mode != Mode::kInference) {
      return UsageError("--for onnxruntime is about inference", {"try: ... --for pytorch   # for a training step"});
    }
    if (!sessions) return UsageError("--for onnxruntime has an arena of its own", {"try: ... --allocator ort"});
  }
  if (workload.device == Device::kCpu && !sessions) {
    return UsageError("--device cpu is about onnxruntime's sessions", {"try: ... --for onnxruntime --device cpu"});
  }
  if (workload.sessions > 1 && !sessions) {
    return UsageError("--sessions is about onnxruntime", {"try: ... --for onnxruntime"});
  }
  if (workload.device == Device::kCpu && (!options.gpu.empty() || options.gpu_memory_bytes)) {
    return UsageError("--device cpu and a card: choose one",
                      {"way out: --budget SIZE in place of the card, for the memory of the machine"});
  }
  return absl::OkStatus();
}

}  // namespace

void RunInSessions(Options& options) {
  options.runtime = Runtime::kOnnxruntime;
  if (!options.mode_given) options.workload.mode = Mode::kInference;
  if (!options.allocator_given) options.workload.allocator = "ort";
}

void SettleRuntime(Options& options) {
  SettleLayout(options);
  const bool asks_for_sessions = options.workload.device == Device::kCpu || options.workload.sessions > 1;
  if (options.runtime == Runtime::kByFile && asks_for_sessions) options.runtime = Runtime::kOnnxruntime;
  if (options.runtime == Runtime::kOnnxruntime) RunInSessions(options);
}

absl::Status CheckTogether(const Options& options) {
  const Workload& workload = options.workload;
  RETURN_IF_ERROR(CheckLayout(options));
  RETURN_IF_ERROR(CheckPackedBase(options.workload.run));
  RETURN_IF_ERROR(CheckRuntime(options));
  RETURN_IF_ERROR(CheckBudgetShare(options));
  const bool planned = options.plan || !options.plan_file.empty();
  if (options.instance_file.empty() && !options.budget_status.ok()) {
    const Diagnostic diagnostic = DiagnosticOf(options.budget_status);
    return UsageError("--budget: " + diagnostic.message, diagnostic.details);
  }
  if (options.quiet && options.verbose) return UsageError("-q and -v contradict each other");
  if (options.quiet && options.format != "table") {
    return UsageError(absl::StrFormat("-q prints one line and --format %s a report: choose one", options.format));
  }
  if (workload.run.dtype && workload.run.autocast) {
    return UsageError("--dtype converts the weights and --amp keeps them in fp32: choose one");
  }
  if (RowOf(workload.run.trainer).gradients_in_forward && IsSpread(workload.layout)) {
    return UsageError(
        "--trainer lightning on several cards: what gradients of the last step take there is not modelled",
        {"try: ... --trainer hf   # the same without them"});
  }
  RETURN_IF_ERROR(CheckOneRun(options));
  RETURN_IF_ERROR(CheckImplementation(workload.optimizer));
  if (planned && !workload.run.segments.empty()) {
    return UsageError("--plan and --segment both say what is checkpointed: choose one");
  }
  if (!options.gpu.empty() && options.gpu_memory_bytes) return UsageError("--gpu and --gpu-memory: choose one");
  if (options.by != By::kNone && options.batches.size() > 1 && options.command != "compare") {
    return UsageError("--by lists what one batch holds", {TryOneBatch(options)});
  }
  if (planned && workload.mode == Mode::kInference) {
    return UsageError("--plan is about training, and --mode is infer");
  }
  return absl::OkStatus();
}

}  // namespace onnx_mem
