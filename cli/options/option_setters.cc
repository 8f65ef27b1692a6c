#include "cli/options/option_setters.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "analyzer/allocators/allocator.h"
#include "analyzer/devices/gpus.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/graph/suggest.h"
#include "planner/measure/plan.h"
#include "report/parts/formats.h"

namespace onnx_mem {
namespace {

constexpr int64_t kMostLoraRank = 1 << 20;  // more than any layer has features

}  // namespace

absl::Status CheckBytes(int64_t bytes) {
  return bytes < 0 ? UsageError(absl::StrFormat("'%dB' is not a size: it is negative", bytes)) : absl::OkStatus();
}

absl::Status SetBatches(Batches batches, Options& options) {
  RETURN_IF_ERROR(CheckBatches(batches));
  options.batches.clear();
  for (const int64_t batch : batches) {
    const bool again = std::find(options.batches.begin(), options.batches.end(), batch) != options.batches.end();
    if (!again) options.batches.push_back(batch);
  }
  return absl::OkStatus();
}

absl::Status AddDim(DimBinding binding, Options& options) {
  const auto& [name, size] = binding;
  if (name.empty()) return UsageError("a dimension has no name");
  if (size < 0) return UsageError(absl::StrFormat("'%s=%d': a dimension cannot be negative", name, size));
  options.workload.bindings.dims[name] = size;
  return absl::OkStatus();
}

absl::Status AddShortest(DimBinding binding, Options& options) {
  const auto& [name, size] = binding;
  if (name.empty()) return UsageError("a dimension has no name");
  if (size < 1) return UsageError(absl::StrFormat("'%s=%d': the shortest is at least 1", name, size));
  options.workload.shortest[name] = size;
  return absl::OkStatus();
}

absl::Status AddInput(ShapeBinding binding, Options& options) {
  const auto& [name, dims] = binding;
  if (name.empty()) return UsageError("an input has no name");
  if (std::any_of(dims.begin(), dims.end(), [](int64_t size) { return size < 0; })) {
    return UsageError(absl::StrFormat("'%s': a dimension cannot be negative", name));
  }
  options.workload.bindings.inputs[name] = dims;
  return absl::OkStatus();
}

absl::Status SetOptimizer(std::string_view text, Options& options) {
  ASSIGN_OR_RETURN(Optimizer optimizer, ParseOptimizer(text));
  optimizer.implementation = options.workload.optimizer.implementation;
  optimizer.implementation_given = options.workload.optimizer.implementation_given;
  optimizer.weight_decay = options.workload.optimizer.weight_decay;
  optimizer.averages_model = options.workload.optimizer.averages_model;
  options.workload.optimizer = std::move(optimizer);
  return absl::OkStatus();
}

absl::Status AddSegment(std::string_view text, Options& options) {
  Segment segment;
  for (const Offload offload : kOffloads) {
    const std::string_view end = FlagSuffixOf(offload);
    if (!text.ends_with(end)) continue;
    text.remove_suffix(end.size());
    segment.offload = offload;
    break;
  }
  ASSIGN_OR_RETURN(segment.modules, ParseNames(text));
  if (segment.offload != Offload::kNo && segment.modules.size() > 1) {
    return UsageError("modules go to the host one by one",
                      {"for example: --segment layer1@host --segment layer2@host-waiting"});
  }
  options.workload.run.segments.push_back(std::move(segment));
  return absl::OkStatus();
}

// Times are those of the first card.
absl::Status AddGpus(std::string_view text, Options& options) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ParseNames(text));
  if (options.gpu.empty()) options.gpu = names.front();
  options.gpus.insert(options.gpus.end(), names.begin(), names.end());
  return absl::OkStatus();
}

absl::Status SetInplace(std::string_view text, Options& options) {
  const std::string_view word = InPlaceWord(text);
  if (word.empty()) RETURN_IF_ERROR(CheckRegex(text));
  options.workload.run.inplace = std::string(word.empty() ? text : word);
  return absl::OkStatus();
}

absl::Status SetDropout(std::string_view text, Options& options) {
  options.workload.run.dropout.reset();
  options.workload.run.dropout_behind.clear();
  if (SameWord(text, "auto")) return absl::OkStatus();
  if (HasWord("file none off", text)) {
    options.workload.run.dropout = 0.0;
    return absl::OkStatus();
  }
  const size_t colon = text.find(':');
  ASSIGN_OR_RETURN(options.workload.run.dropout, ParseProbability(text.substr(0, colon)));
  if (colon == std::string_view::npos) return absl::OkStatus();
  const std::string_view behind = text.substr(colon + 1);
  if (behind.empty()) {
    return UsageError(
        absl::StrFormat("'%s' names no place behind its colon", text),
        {absl::StrFormat("try: ... --dropout %s   # behind everything; --dropout %s:attn: behind what matches",
                         text.substr(0, colon), text.substr(0, colon))});
  }
  RETURN_IF_ERROR(CheckRegex(behind));
  options.workload.run.dropout_behind = std::string(behind);
  return absl::OkStatus();
}

// "8:q_proj|v_proj", or with a dropout before the adapter "8,0.05:q_proj".
absl::Status AddLora(std::string_view text, Options& options) {
  const size_t colon = text.find(':');
  const std::string_view numbers = text.substr(0, std::min(colon, text.size()));
  const size_t comma = std::min(numbers.find(','), numbers.size());
  Lora lora;
  if (!absl::SimpleAtoi(std::string(numbers.substr(0, comma)), &lora.rank) || lora.rank < 1 ||
      lora.rank > kMostLoraRank || colon == std::string_view::npos || colon + 1 == text.size()) {
    return UsageError(absl::StrFormat("'%s' is no rank and pattern of weights", text),
                      {"for example: --lora 8:'q_proj|v_proj', or with dropout --lora 8,0.05:'q_proj|v_proj'"});
  }
  if (comma < numbers.size()) {
    ASSIGN_OR_RETURN(lora.dropout, ParseProbability(numbers.substr(comma + 1)));
  }
  RETURN_IF_ERROR(CheckRegex(text.substr(colon + 1)));
  lora.weights = std::string(text.substr(colon + 1));
  options.workload.run.lora.push_back(std::move(lora));
  return absl::OkStatus();
}

absl::Status AddNoRewrite(std::string_view text, Options& options) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ParseNames(text));
  auto& disabled = options.workload.run.disabled_rewrites;
  disabled.insert(disabled.end(), names.begin(), names.end());
  return absl::OkStatus();
}

absl::Status SetTimeLimit(Seconds limit, Options& options) {
  if (!(limit.number >= 0)) return UsageError(absl::StrFormat("'%g' is not a number of seconds", limit.number));
  options.time_limit_s = limit.number;
  return absl::OkStatus();
}

absl::Status SetMaxSlowdown(Percent most, Options& options) {
  if (!(most.number >= 0)) return UsageError(absl::StrFormat("'%g' is not a percentage", most.number));
  options.plan_request.max_slowdown = most.number / 100;
  return absl::OkStatus();
}

absl::Status SetMaxIncrease(Percent most, Options& options) {
  if (!(most.number >= 0)) return UsageError(absl::StrFormat("'%g' is not a percentage", most.number));
  options.max_increase_percent = most.number;
  return absl::OkStatus();
}

absl::Status SetHostMemory(ByteSize size, Options& options) {
  RETURN_IF_ERROR(CheckBytes(size.bytes));
  options.plan_request.offload = true;
  options.plan_request.host_bytes = size.bytes;
  return absl::OkStatus();
}

absl::Status SetBudget(SizeOrShare budget, Options& options) {
  RETURN_IF_ERROR(CheckBytes(budget.bytes.value_or(0)));
  options.budget_bytes = budget.bytes;
  options.budget_percent = budget.percent;
  options.budget_status = std::move(budget.no_size);
  return absl::OkStatus();
}

std::vector<std::string> AllocatorNames() {
  std::vector<std::string> names;
  for (const AllocatorRow& row : Allocators()) names.emplace_back(row.name);
  return names;
}

std::vector<std::string> CardWords() {
  std::vector<std::string> words = GpuWords();
  words.emplace_back("local");
  return words;
}

absl::Status SetAllocator(std::string_view text, Options& options) {
  std::vector<std::string> others;
  for (const AllocatorRow& row : Allocators()) {
    others.emplace_back(row.also);
    if (!SameWord(text, row.name) && !HasWord(row.also, text)) continue;
    options.workload.allocator = std::string(row.name);
    options.allocator_given = true;
    return absl::OkStatus();
  }
  return UnknownChoice(text, AllocatorNames(), others);
}

absl::Status SetMethod(std::string_view text, Options& options) {
  for (std::string& name : MethodNames()) {
    if (!SameWord(text, name)) continue;
    options.plan_request.method = std::move(name);
    return absl::OkStatus();
  }
  return UnknownChoice(text, MethodNames());
}

absl::Status SetBitsandbytes(std::string_view text, Options& options) {
  constexpr TorchVersion kChanged = {0, 43};  // in 0.43.2
  const std::optional<TorchVersion> version = ParseTorchVersion(text);
  if (!version) {
    return UsageError(absl::StrFormat("'%s' is no version of bitsandbytes", text), {"try: ... --bitsandbytes 0.41.1"});
  }
  Run& run = options.workload.run;
  run.bitsandbytes = std::string(text);
  run.base_keeps_inputs = *version < kChanged || text == "0.43" || text == "0.43.0" || text == "0.43.1";
  return absl::OkStatus();
}

absl::Status SetTorch(std::string_view text, Options& options) {
  const std::optional<TorchVersion> version = ParseTorchVersion(text);
  const std::string newest = TextOf(kNewestTorch);
  if (!version) {
    return UsageError(absl::StrFormat("'%s' is no version of PyTorch", text), {"try: ... --torch " + newest});
  }
  if (*version < kOldestTorch || *version > kNewestTorch) {
    const std::string oldest = TextOf(kOldestTorch);
    return UsageError(
        absl::StrFormat("what PyTorch %s takes is not known: versions %s to %s are", text, oldest, newest),
        {"try: ... --torch " + (*version < kOldestTorch ? oldest : newest) + "   # the nearest"});
  }
  options.workload.platform.torch = version;
  return absl::OkStatus();
}

absl::Status SetFormat(std::string_view text, Options& options) {
  const FormatRow* row = FormatMeant(text);
  if (row == nullptr) {
    std::vector<std::string> others;
    for (const FormatRow& format : FormatRows()) others.emplace_back(format.extensions);
    return UnknownChoice(text, FormatNames(), others);
  }
  options.format = std::string(row->name);
  return absl::OkStatus();
}

absl::Status AddExport(std::string_view text, Options& options) {
  ASSIGN_OR_RETURN(Export file, ParseExport(text));
  options.exports.push_back(std::move(file));
  return absl::OkStatus();
}

absl::Status SetUnits(std::string_view text, Options& options) {
  ASSIGN_OR_RETURN(options.units, ParseByteUnit(text));
  return absl::OkStatus();
}

}  // namespace onnx_mem
