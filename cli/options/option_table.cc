#include "cli/options/option_table.h"

#include <array>
#include <cctype>
#include <deque>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "analyzer/allocators/allocator.h"
#include "analyzer/devices/gpus.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/graph/suggest.h"
#include "cli/options/option_values.h"
#include "planner/measure/plan.h"
#include "report/parts/formats.h"

namespace onnx_mem {
namespace {

// The first name is the one that --help and messages show; the others are what frameworks and other tools call it.
constexpr auto kModes = std::to_array<Choice<Mode>>({{"both", Mode::kBoth},
                                                     {"train", Mode::kTraining, "training"},
                                                     {"infer", Mode::kInference, "inference eval evaluation"}});
constexpr std::string_view kFp32Names = "float32 float f32 single full torch.float32";
constexpr std::string_view kFp16Names = "float16 half f16 torch.float16 torch.half";
constexpr std::string_view kBf16Names = "bfloat16 bfloat torch.bfloat16";
constexpr int64_t kMostLoraRank = 1 << 20;  // more than any layer has features
constexpr auto kDTypeChoices = std::to_array<Choice<DType>>({{"file", DType::kUnknown},
                                                             {"fp32", DType::kFloat32, kFp32Names},
                                                             {"fp16", DType::kFloat16, kFp16Names},
                                                             {"bf16", DType::kBFloat16, kBf16Names}});
constexpr auto kAutocastChoices = std::to_array<Choice<DType>>({{"none", DType::kUnknown, "off no"},
                                                                {"fp16", DType::kFloat16, kFp16Names},
                                                                {"bf16", DType::kBFloat16, kBf16Names}});
constexpr auto kLosses =
    std::to_array<Choice<LossKind>>({{"auto", LossKind::kAuto},
                                     {"sum", LossKind::kSum},
                                     {"mean", LossKind::kMean},
                                     {"cross-entropy", LossKind::kCrossEntropy, "ce cross-entropy-loss"},
                                     {"mse", LossKind::kMse, "mse-loss l2"},
                                     {"none", LossKind::kNone}});
constexpr auto kImplementations =
    std::to_array<Choice<OptimizerImplementation>>({{"foreach", OptimizerImplementation::kForeach},
                                                    {"for-loop", OptimizerImplementation::kForLoop, "loop"},
                                                    {"fused", OptimizerImplementation::kFused}});
constexpr auto kAttentionKernels = std::to_array<Choice<AttentionKernel>>(
    {{"auto", AttentionKernel::kAuto, "sdpa"},
     {"eager", AttentionKernel::kEager},
     {"math", AttentionKernel::kMath, "sdpa-math"},
     {"flash", AttentionKernel::kFlash, "flash-attention flash-attention-2 flash2 fa2"},
     {"efficient", AttentionKernel::kEfficient, "mem-efficient memory-efficient efficient-attention xformers"}});
constexpr auto kBatchNormModes = std::to_array<Choice<BatchNormMode>>(
    {{"auto", BatchNormMode::kAuto}, {"as-is", BatchNormMode::kAsIs, "file"}, {"unfold", BatchNormMode::kUnfold}});
constexpr auto kTiedModes = std::to_array<Choice<TiedMode>>(
    {{"auto", TiedMode::kAuto}, {"yes", TiedMode::kYes, "true on"}, {"no", TiedMode::kNo, "false off"}});
constexpr auto kBys = std::to_array<Choice<By>>({{"layer", By::kLayer, "layers module modules"},
                                                 {"op", By::kOp, "ops operator operators"},
                                                 {"tensor", By::kTensor, "tensors"},
                                                 {"shape", By::kShape, "shapes"},
                                                 {"category", By::kCategory, "categories"},
                                                 {"step", By::kStep, "steps timeline"}});
constexpr auto kBaseBits = std::to_array<Choice<BaseBits>>({{"4", BaseBits::kFour, "nf4 fp4"},
                                                            {"4-double", BaseBits::kFourDouble, "nf4-double"},
                                                            {"8", BaseBits::kEight, "int8"}});
constexpr auto kEmitted =
    std::to_array<Choice<std::string_view>>({{"pytorch", "pytorch", "torch python"}, {"json", "json"}});
constexpr auto kBudgetLines = std::to_array<Choice<BudgetLine>>(
    {{"device", BudgetLine::kDevice, "gpu card"}, {"live", BudgetLine::kLive, "alive"}});
constexpr auto kGranularities = std::to_array<Choice<Granularity>>(
    {{"module", Granularity::kModule, "modules layer"}, {"op", Granularity::kOp, "ops operator"}});
constexpr auto kCostLines = std::to_array<Choice<CostLine>>({{"flops", CostLine::kFlops}, {"time", CostLine::kTime}});
constexpr auto kRuntimes = std::to_array<Choice<Runtime>>({{"auto", Runtime::kByFile},
                                                           {"pytorch", Runtime::kPyTorch, "torch"},
                                                           {"onnxruntime", Runtime::kOnnxruntime, "ort"}});
constexpr auto kDevices = std::to_array<Choice<Device>>({{"gpu", Device::kGpu, "cuda"}, {"cpu", Device::kCpu}});
constexpr auto kLikes = std::to_array<Choice<bool>>({{"base", true}});
constexpr auto kColors = std::to_array<Choice<ColorChoice>>({{"auto", ColorChoice::kAuto},
                                                             {"always", ColorChoice::kAlways, "yes on"},
                                                             {"never", ColorChoice::kNever, "no off"}});

// A choice of element type, where the first choice means "as it is".
template <size_t n>
absl::Status ChooseDType(std::string_view text, const std::array<Choice<DType>, n>& names,
                         std::optional<DType>& field) {
  DType dtype = DType::kUnknown;
  RETURN_IF_ERROR(Choose(text, names, dtype));
  field = dtype == DType::kUnknown ? std::nullopt : std::optional<DType>(dtype);
  return absl::OkStatus();
}

template <size_t n>
absl::Status ChooseName(std::string_view text, const std::array<Choice<std::string_view>, n>& names,
                        std::string& field) {
  std::string_view name;
  RETURN_IF_ERROR(Choose(text, names, name));
  field = std::string(name);
  return absl::OkStatus();
}

absl::Status AddRegex(std::string_view text, std::vector<std::string>& patterns) {
  RETURN_IF_ERROR(CheckRegex(text));
  patterns.emplace_back(text);
  return absl::OkStatus();
}

absl::Status ApplyBatch(std::string_view text, Options& options) {
  ASSIGN_OR_RETURN(options.batches, ParseBatches(text));
  return absl::OkStatus();
}

absl::Status ApplyDim(std::string_view text, Options& options) {
  ASSIGN_OR_RETURN(const auto binding, ParseDimBinding(text));
  options.workload.bindings.dims[binding.first] = binding.second;
  return absl::OkStatus();
}

absl::Status ApplyInput(std::string_view text, Options& options) {
  ASSIGN_OR_RETURN(const auto binding, ParseInputShape(text));
  options.workload.bindings.inputs[binding.first] = binding.second;
  return absl::OkStatus();
}

absl::Status ApplyOptimizer(std::string_view text, Options& options) {
  ASSIGN_OR_RETURN(Optimizer optimizer, ParseOptimizer(text));
  optimizer.implementation = options.workload.optimizer.implementation;
  optimizer.weight_decay = options.workload.optimizer.weight_decay;
  options.workload.optimizer = std::move(optimizer);
  return absl::OkStatus();
}

absl::Status ApplyAccumulate(std::string_view text, Options& options) {
  ASSIGN_OR_RETURN(options.workload.run.accumulate, ParseCount(text, 1));
  return absl::OkStatus();
}

absl::Status ApplySegment(std::string_view text, Options& options) {
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
                      {"try: --segment layer1@host --segment layer2@host-waiting"});
  }
  options.workload.run.segments.push_back(std::move(segment));
  return absl::OkStatus();
}

// Times are told of the first card.
absl::Status ApplyGpu(std::string_view text, Options& options) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ParseNames(text));
  if (options.gpu.empty()) options.gpu = names.front();
  options.gpus.insert(options.gpus.end(), names.begin(), names.end());
  return absl::OkStatus();
}

absl::Status ApplyInplace(std::string_view text, Options& options) {
  const std::string_view word = InPlaceWord(text);
  if (word.empty()) RETURN_IF_ERROR(CheckRegex(text));
  options.workload.run.inplace = std::string(word.empty() ? text : word);
  return absl::OkStatus();
}

absl::Status ApplyDropout(std::string_view text, Options& options) {
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
    return UsageError(absl::StrFormat("'%s' names no place behind its colon", text),
                      {absl::StrFormat("try: --dropout %s behind everything, or --dropout %s:attn behind what matches",
                                       text.substr(0, colon), text.substr(0, colon))});
  }
  RETURN_IF_ERROR(CheckRegex(behind));
  options.workload.run.dropout_behind = std::string(behind);
  return absl::OkStatus();
}

absl::Status ApplyBaseBits(std::string_view text, Options& options) {
  return Choose(text, kBaseBits, options.workload.run.base_bits);
}

// "8:q_proj|v_proj", or with a dropout before the adapter "8,0.05:q_proj".
absl::Status ApplyLora(std::string_view text, Options& options) {
  const size_t colon = text.find(':');
  const std::string_view numbers = text.substr(0, std::min(colon, text.size()));
  const size_t comma = std::min(numbers.find(','), numbers.size());
  Lora lora;
  if (!absl::SimpleAtoi(std::string(numbers.substr(0, comma)), &lora.rank) || lora.rank < 1 ||
      lora.rank > kMostLoraRank || colon == std::string_view::npos || colon + 1 == text.size()) {
    return UsageError(absl::StrFormat("'%s' is no rank and pattern of weights", text),
                      {"try: --lora 8:'q_proj|v_proj', or with dropout --lora 8,0.05:'q_proj|v_proj'"});
  }
  if (comma < numbers.size()) {
    ASSIGN_OR_RETURN(lora.dropout, ParseProbability(numbers.substr(comma + 1)));
  }
  RETURN_IF_ERROR(CheckRegex(text.substr(colon + 1)));
  lora.weights = std::string(text.substr(colon + 1));
  options.workload.run.lora.push_back(std::move(lora));
  return absl::OkStatus();
}

absl::Status ApplyNoRewrite(std::string_view text, Options& options) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ParseNames(text));
  auto& disabled = options.workload.run.disabled_rewrites;
  disabled.insert(disabled.end(), names.begin(), names.end());
  return absl::OkStatus();
}

absl::Status ApplyTop(std::string_view text, Options& options) {
  ASSIGN_OR_RETURN(options.top, ParseCount(text, 0));
  return absl::OkStatus();
}

absl::Status ApplyTimeLimit(std::string_view text, Options& options) {
  ASSIGN_OR_RETURN(options.time_limit_s, ParseSeconds(text));
  return absl::OkStatus();
}

absl::Status ApplyMaxSlowdown(std::string_view text, Options& options) {
  ASSIGN_OR_RETURN(const double percent, ParsePercent(text));
  options.max_slowdown = percent / 100;
  return absl::OkStatus();
}

absl::Status ApplyIterations(std::string_view text, Options& options) {
  ASSIGN_OR_RETURN(options.iteration_limit, ParseCount(text, 0));
  return absl::OkStatus();
}

absl::Status ApplyExport(std::string_view text, Options& options) {
  ASSIGN_OR_RETURN(Export file, ParseExport(text));
  options.exports.push_back(std::move(file));
  return absl::OkStatus();
}

absl::Status ApplyUnits(std::string_view text, Options& options) {
  ASSIGN_OR_RETURN(options.units, ParseByteUnit(text));
  return absl::OkStatus();
}

absl::Status ApplyBytes(std::string_view text, std::optional<int64_t>& field) {
  ASSIGN_OR_RETURN(field, ParseSize(text));
  return absl::OkStatus();
}

absl::Status ApplyHostMemory(std::string_view text, Options& options) {
  options.offload = true;
  return ApplyBytes(text, options.host_bytes);
}

// A size, or a share of what is taken now; of a step graph it is a number in the graph's own units. Which of them is
// known when all options are.
absl::Status ApplyBudget(std::string_view text, Options& options) {
  options.budget_bytes.reset();
  options.budget_percent.reset();
  if (text.find('%') != std::string_view::npos) {
    ASSIGN_OR_RETURN(options.budget_percent, ParseShare(text));
    options.budget_status = absl::OkStatus();
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(options.budget_bytes, ParseBytes(text));
  options.budget_status = ParseSize(text).status();
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

absl::Status ApplyAllocator(std::string_view text, Options& options) {
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

absl::Status ApplyMethod(std::string_view text, Options& options) {
  for (std::string& name : MethodNames()) {
    if (!SameWord(text, name)) continue;
    options.method = std::move(name);
    return absl::OkStatus();
  }
  return UnknownChoice(text, MethodNames());
}

absl::Status ApplyRuntime(std::string_view text, Options& options) { return Choose(text, kRuntimes, options.runtime); }

absl::Status ApplyTorch(std::string_view text, Options& options) {
  options.workload.platform.torch = ParseTorchVersion(text);
  if (options.workload.platform.torch) return absl::OkStatus();
  return UsageError(absl::StrFormat("'%s' is no version of PyTorch", text), {"try: --torch 2.4"});
}

absl::Status ApplyFormat(std::string_view text, Options& options) {
  const FormatRow* row = FormatMeant(text);
  if (row == nullptr) {
    std::vector<std::string> others;
    for (const FormatRow& format : FormatRows()) others.emplace_back(format.extensions);
    return UnknownChoice(text, FormatNames(), others);
  }
  options.format = std::string(row->name);
  return absl::OkStatus();
}

// Commands that enact models: they take every option that describes the workload or the form of a report.
constexpr CommandSet kRuns = kAnalyzeCommand | kCompareCommand | kFitCommand;
constexpr CommandSet kSteps = kRuns | kPlanCommand;  // and those that plan its training step

constexpr auto kRows = std::to_array<OptionRow>({
    {"-b", "--batch", "N[,N...]", OptionGroup::kWorkload, kSteps | kCheckCommand,
     "batch: dim 0 of the inputs; 1,8,64 or 1..8 gives a row each (the file's, else 1)", ApplyBatch},
    {"-d", "--dim", "NAME=N", OptionGroup::kWorkload, kSteps | kCheckCommand,
     "size of a symbolic dimension", ApplyDim, true},
    {"", "--input", "NAME=1x3x224x224", OptionGroup::kWorkload, kSteps | kCheckCommand,
     "whole shape of an input, or of a weight", ApplyInput,
     true},
    {"-m", "--mode", "both|train|infer", OptionGroup::kWorkload, kRuns, "what to analyze (both)",
     [](std::string_view text, Options& options) {
       options.mode_given = true;
       return Choose(text, kModes, options.workload.mode);
     }},
    {"", "--dtype", "file|fp32|fp16|bf16", OptionGroup::kWorkload, kSteps,
     "as if the model were converted to this type (file)",
     [](std::string_view text, Options& options) {
       return ChooseDType(text, kDTypeChoices, options.workload.run.dtype);
     }},
    {"", "--amp", "none|fp16|bf16", OptionGroup::kWorkload, kSteps,
     "autocast: weights stay fp32, activations take this type (none)",
     [](std::string_view text, Options& options) {
       return ChooseDType(text, kAutocastChoices, options.workload.run.autocast);
     }},
    {"", "--plan", "FILE", OptionGroup::kWorkload, kAnalyzeCommand | kPlanCommand,
     "apply segments and settings of a plan report and measure again",
     [](std::string_view text, Options& options) {
       options.plan_file = std::string(text);
       return absl::OkStatus();
     }},

    {"", "--instance", "FILE", OptionGroup::kPlan, kPlanCommand,
     "plan a step graph in JSON in place of a model; --budget is then in its units",
     [](std::string_view text, Options& options) {
       options.instance_file = std::string(text);
       return absl::OkStatus();
     }},
    {"", "--method", "NAME", OptionGroup::kPlan, kPlanCommand,
     "how to look for a plan; auto: every way, until the plan is proven best or time is up (auto)", ApplyMethod, false,
     MethodNames},
    {"", "--granularity", "module|op", OptionGroup::kPlan, kPlanCommand,
     "op: a module may also keep the results of its convolutions and matrix products (selective checkpointing) "
     "(module)",
     [](std::string_view text, Options& options) { return Choose(text, kGranularities, options.granularity); }},
    {"", "--emit", "pytorch|json", OptionGroup::kPlan, kPlanCommand,
     "print the plan as Python that applies it, or as a file for --plan, in place of the report",
     [](std::string_view text, Options& options) { return ChooseName(text, kEmitted, options.emit); }},
    {"", "--budget-on", "device|live", OptionGroup::kPlan, kPlanCommand,
     "what --budget limits: memory on the card, or the bytes alive alone (device)",
     [](std::string_view text, Options& options) { return Choose(text, kBudgetLines, options.budget_line); }},
    {"", "--cost-in", "flops|time", OptionGroup::kPlan, kPlanCommand,
     "what a second run costs: FLOPs, or estimated time, in which normalisations, activations and each checkpoint call "
     "count too (time)",
     [](std::string_view text, Options& options) {
       options.cost_line_given = true;
       return Choose(text, kCostLines, options.cost_line);
     }},
    {"", "--max-slowdown", "P%", OptionGroup::kPlan, kPlanCommand,
     "take at most this much more FLOPs or time (--cost-in): 10%",
     ApplyMaxSlowdown},
    {"", "--offload", "", OptionGroup::kPlan, kPlanCommand,
     "modules may also keep what they save in host memory, where that takes less time than a second run",
     [](std::string_view, Options& options) {
       options.offload = true;
       return absl::OkStatus();
     }},
    {"", "--host-memory", "SIZE", OptionGroup::kPlan, kPlanCommand,
     "--offload, with at most this much on the host at once", ApplyHostMemory},
    {"", "--max-batch", "", OptionGroup::kPlan, kPlanCommand,
     "plan the largest batch that a plan brings within the budget, and say which is proven impossible",
     [](std::string_view, Options& options) {
       options.max_batch = true;
       return absl::OkStatus();
     }},
    {"", "--time-limit", "SECONDS", OptionGroup::kPlan, kPlanCommand,
     "stop looking after this long, 0: never (of a model: never; of an instance: 2)",
     ApplyTimeLimit},
    {"", "--iterations", "N", OptionGroup::kPlan, kPlanCommand,
     "stop each method after so many iterations, for the same plan on any machine; 0: no limit (0)", ApplyIterations},

    {"", "--optimizer", "NAME", OptionGroup::kFramework, kSteps,
     "none, sgd, momentum, adam, adamw ..., or a number: bytes of state per parameter (adam)", ApplyOptimizer, false,
     nullptr, OptimizerNames},
    {"", "--optimizer-impl", "foreach|for-loop|fused", OptionGroup::kFramework, kSteps,
     "its step: all parameters in lists, one after another, or fused without temporaries (foreach)",
     [](std::string_view text, Options& options) {
       return Choose(text, kImplementations, options.workload.optimizer.implementation);
     }},
    {"", "--weight-decay", "", OptionGroup::kFramework, kSteps,
     "the optimizer adds weight decay to the gradients, which it copies for it (AdamW does without)",
     [](std::string_view, Options& options) {
       options.workload.optimizer.weight_decay = true;
       return absl::OkStatus();
     }},
    {"", "--accumulate", "N", OptionGroup::kFramework, kSteps, "batches per optimizer step, whose gradients add up (1)",
     ApplyAccumulate},
    {"", "--loss", "auto|sum|mean|cross-entropy|mse|none", OptionGroup::kFramework, kSteps,
     "the loss; auto: cross-entropy for 2-D logits and those over a model's tokens, else the mean (auto)",
     [](std::string_view text, Options& options) { return Choose(text, kLosses, options.workload.run.loss); }},
    {"", "--freeze", "REGEX", OptionGroup::kFramework, kSteps,
     "parameters that are not trained: no gradient, no optimizer state",
     [](std::string_view text, Options& options) { return AddRegex(text, options.workload.run.freeze); }, true},
    {"", "--lora", "RANK[,P]:REGEX", OptionGroup::kFramework, kSteps,
     "LoRA adapters of that rank, with dropout P, beside the layers whose weights match; all else is frozen", ApplyLora,
     true},
    {"", "--base-bits", "4|4-double|8", OptionGroup::kFramework, kSteps,
     "with --lora: the frozen linear layers are those of bitsandbytes, their weights stored in so many bits",
     ApplyBaseBits},
    {"", "--requires-grad", "INPUT", OptionGroup::kFramework, kSteps, "an input that gets a gradient",
     [](std::string_view text, Options& options) {
       options.workload.run.requires_grad.emplace_back(text);
       return absl::OkStatus();
     },
     true},
    {"", "--hold", "TENSOR", OptionGroup::kFramework, kSteps,
     "a tensor that a Python variable keeps until the step ends",
     [](std::string_view text, Options& options) {
       options.workload.run.hold.emplace_back(text);
       return absl::OkStatus();
     },
     true},
    {"", "--checkpointed", "REGEX", OptionGroup::kFramework, kSteps,
     "modules that your code already runs under torch.utils.checkpoint",
     [](std::string_view text, Options& options) { return AddRegex(text, options.workload.run.checkpointed); }, true},
    {"", "--segment", "MODULE[,MODULE...]", OptionGroup::kFramework, kRuns,
     "neighbouring modules that run under one torch.utils.checkpoint call; MODULE@host: what it saves goes to the host "
     "(@host-waiting: of the last one; -held, -gate: docs/plans.md)", ApplySegment, true},
    {"", "--inplace", "auto|norms|all|none|REGEX", OptionGroup::kFramework, kSteps | kCheckCommand,
     "which ops ran in place; auto: activations right after Conv, BatchNorm, Add; norms: BatchNorms too; all: ELU and "
     "its like too (auto)", ApplyInplace},
    {"", "--attention", "auto|eager|math|flash|efficient", OptionGroup::kFramework, kSteps | kCheckCommand,
     "the kernel that ran an attention which the file spells out (auto)",
     [](std::string_view text, Options& options) {
       return Choose(text, kAttentionKernels, options.workload.run.attention);
     }},
    {"", "--bn", "auto|as-is|unfold", OptionGroup::kFramework, kSteps | kCheckCommand,
     "BatchNorms that the exporter folded into Conv: bring them back for training (auto)",
     [](std::string_view text, Options& options) {
       return Choose(text, kBatchNormModes, options.workload.run.batch_norm);
     }},
    {"", "--dropout", "auto|P[:REGEX]|file", OptionGroup::kFramework, kSteps,
     "dropouts that an evaluation export lost: as if all were back with probability P, or those behind modules or "
     "nodes that match REGEX; auto: where the model's build tells, as BERT's (auto)", ApplyDropout},
    {"", "--tied", "auto|yes|no", OptionGroup::kFramework, kSteps | kCheckCommand,
     "output projections that an export stored apart from the token embedding share its weight; auto: where the "
     "model's build tells (auto)",
     [](std::string_view text, Options& options) { return Choose(text, kTiedModes, options.workload.run.tied); }},
    {"", "--no-rewrite", "NAME[,NAME...]", OptionGroup::kFramework, kSteps | kCheckCommand,
     "take these operators as the file spells them: gelu, attention ... (check lists those that ran)",
     ApplyNoRewrite, true},

    {"", "--gpu", "NAME[,NAME...]", OptionGroup::kDevice, kSteps | kCheckCommand,
     "a card, \"RTX 4090\", or local, or several, each with its own verdict: does it fit? (onnx-mem gpus)",
     ApplyGpu, true, nullptr, CardWords},
    {"", "--gpu-memory", "SIZE", OptionGroup::kDevice, kSteps | kCheckCommand,
     "memory of a card that is not in the table",
     [](std::string_view text, Options& options) { return ApplyBytes(text, options.gpu_memory_bytes); }},
    {"", "--cost", "FILE", OptionGroup::kDevice, kAnalyzeCommand | kPlanCommand,
     "measured times instead of estimates: csv with node or module, phase, microseconds",
     [](std::string_view text, Options& options) {
       options.cost_file = std::string(text);
       return absl::OkStatus();
     }},
    {"", "--budget", "SIZE|P%", OptionGroup::kDevice, kSteps | kCheckCommand,
     "exit with 1 when more than this is needed, for what --mode analyzes; P%: of what is needed without a plan",
     ApplyBudget},
    {"", "--measured", "SIZE", OptionGroup::kDevice, kCompareCommand,
     "what torch.cuda.max_memory_allocated() told of the run: how far is the prediction from it?",
     [](std::string_view text, Options& options) { return ApplyBytes(text, options.measured_bytes); }},
    {"", "--like", "base", OptionGroup::kDevice, kCompareCommand,
     "analyze models under what the base's saved report assumes: its optimizer, loss, freeze, dtype ...",
     [](std::string_view text, Options& options) { return Choose(text, kLikes, options.like_base); }},
    {"", "--max-increase", "P%", OptionGroup::kDevice, kCompareCommand,
     "exit with 1 when a peak or what is needed on the GPU grew by more than this",
     [](std::string_view text, Options& options) -> absl::Status {
       ASSIGN_OR_RETURN(options.max_increase_percent, ParsePercent(text));
       return absl::OkStatus();
     }},
    {"", "--for", "auto|pytorch|onnxruntime", OptionGroup::kDevice, kRuns,
     "what runs the model; onnxruntime: inference in its sessions; auto: a file that is quantized or optimized runs "
     "in onnxruntime (auto)", ApplyRuntime},
    {"", "--device", "gpu|cpu", OptionGroup::kDevice, kRuns,
     "cpu: resident memory of onnxruntime's sessions (gpu; cpu for trees and the like)",
     [](std::string_view text, Options& options) {
       options.device_given = true;
       return Choose(text, kDevices, options.workload.device);
     }},
    {"", "--sessions", "N", OptionGroup::kDevice, kRuns, "onnxruntime's sessions of this model in one process (1)",
     [](std::string_view text, Options& options) -> absl::Status {
       ASSIGN_OR_RETURN(options.workload.sessions, ParseCount(text, 1));
       return absl::OkStatus();
     }},
    {"", "--torch", "VERSION", OptionGroup::kDevice, kSteps,
     "the version of PyTorch that runs it, for workspaces of cuBLAS (the exporter's, else 2.15)", ApplyTorch},
    {"", "--cudnn-benchmark", "", OptionGroup::kDevice, kSteps,
     "torch.backends.cudnn.benchmark is on: convolutions may take larger workspaces while cuDNN tries them",
     [](std::string_view, Options& options) {
       options.workload.platform.cudnn_benchmark = true;
       return absl::OkStatus();
     }},
    {"", "--allocator", "NAME", OptionGroup::kDevice, kSteps, "how memory is handed out (pytorch)", ApplyAllocator, false,
     AllocatorNames},

    {"-n", "--top", "N", OptionGroup::kOutput, kSteps, "rows of a list, 0 for all (8)", ApplyTop},
    {"", "--by", "layer|op|tensor|shape|category|step", OptionGroup::kOutput, kAnalyzeCommand | kCompareCommand,
     "list what holds the memory at the peak; step: what is alive in each step",
     [](std::string_view text, Options& options) { return Choose(text, kBys, options.by); }},
    {"-f", "--format", "NAME", OptionGroup::kOutput, kRuns | kCheckCommand | kGpusCommand | kPlanCommand,
     "of the report (table)", ApplyFormat, false, FormatNames},
    {"-o", "--export", "[FMT=]FILE", OptionGroup::kOutput, kSteps | kCheckCommand | kGpusCommand,
     "also write the whole report to a file, its format by extension", ApplyExport, true},
    {"", "--units", "auto|B|KiB|MiB|GiB|MB|GB", OptionGroup::kOutput, kSteps | kGpusCommand,
     "of the table; json and csv are always in bytes (auto)", ApplyUnits},
    {"", "--color", "auto|always|never", OptionGroup::kOutput, kSteps | kCheckCommand | kGpusCommand,
     "(auto: on a terminal)",
     [](std::string_view text, Options& options) { return Choose(text, kColors, options.color); }},
    {"-q", "--quiet", "", OptionGroup::kOutput, kSteps, "one line of bytes per batch, no warnings",
     [](std::string_view, Options& options) {
       options.quiet = true;
       return absl::OkStatus();
     }},
    {"-v", "--verbose", "", OptionGroup::kOutput, kAnalyzeCommand | kPlanCommand | kFitCommand | kGpusCommand,
     "more columns: who made it, who keeps it, until when",
     [](std::string_view, Options& options) {
       options.verbose = true;
       return absl::OkStatus();
     }},
    {"", "--strict", "", OptionGroup::kOutput, kSteps | kCheckCommand,
     "a warning about what the file does not tell becomes an error, and \"may fit\" exits with 1",
     [](std::string_view, Options& options) {
       options.strict = true;
       return absl::OkStatus();
     }},

    {"-h", "", "", OptionGroup::kGeneral, kEveryCommand, "short help",
     [](std::string_view, Options& options) {
       options.short_help = true;
       return absl::OkStatus();
     }},
    {"", "--help", "", OptionGroup::kGeneral, kEveryCommand, "this help",
     [](std::string_view, Options& options) {
       options.long_help = true;
       return absl::OkStatus();
     }},
    {"-V", "--version", "", OptionGroup::kGeneral, kEveryCommand, "version and what it was built with",
     [](std::string_view, Options& options) {
       options.version = true;
       return absl::OkStatus();
     }},
    {"", "--help-exit-codes", "", OptionGroup::kGeneral, kEveryCommand, "what the exit codes mean",
     [](std::string_view, Options& options) {
       options.exit_codes_help = true;
       return absl::OkStatus();
     }},
});

}  // namespace

absl::Span<const OptionRow> OptionRows() {
  struct Named {
    std::remove_const_t<decltype(kRows)> rows = kRows;
    std::deque<std::string> values;  // that rows name
    Named() {
      for (OptionRow& row : rows) {
        if (row.names != nullptr) row.value = values.emplace_back(absl::StrJoin(row.names(), "|"));
      }
    }
  };
  static const Named& named = *new Named();
  return named.rows;
}

std::string_view TitleOf(OptionGroup group) {
  switch (group) {
    case OptionGroup::kWorkload: return "Workload";
    case OptionGroup::kPlan: return "Plan";
    case OptionGroup::kFramework: return "What the file does not tell";
    case OptionGroup::kDevice: return "Device";
    case OptionGroup::kOutput: return "Output";
    case OptionGroup::kGeneral: return "General";
  }
  return "";
}

std::vector<std::string> ChoicesOf(const OptionRow& row) {
  if (row.value.find('|') == std::string_view::npos) return {};
  std::vector<std::string> choices;
  for (size_t begin = 0; begin <= row.value.size();) {
    const size_t end = std::min(row.value.find('|', begin), row.value.size());
    const std::string_view word = row.value.substr(begin, end - begin);
    // A word all in capitals stands for anything; "MiB" and "B" are words to type.
    const bool placeholder = word == "P" || word == "P[:REGEX]" || word == "REGEX" || word == "SIZE" || word == "P%";
    if (!placeholder) choices.emplace_back(word);
    begin = end + 1;
  }
  return choices;
}

std::vector<std::string> OfferedFor(const OptionRow& row) {
  return row.words != nullptr ? row.words() : ChoicesOf(row);
}

}  // namespace onnx_mem
