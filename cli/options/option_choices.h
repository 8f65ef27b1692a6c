// The choices that options take by name, and what each stands for.
#ifndef ONNX_MEM_CLI_OPTIONS_OPTION_CHOICES_H_
#define ONNX_MEM_CLI_OPTIONS_OPTION_CHOICES_H_

#include <array>
#include <optional>
#include <string_view>

#include "analyzer/graph/dtype.h"
#include "cli/options/option_values.h"
#include "cli/options/options.h"

namespace onnx_mem {

// The first name is the one that --help and messages show; the others are what frameworks and other tools call it.
inline constexpr auto kModes = std::to_array<Choice<Mode>>({{"both", Mode::kBoth},
                                                            {"train", Mode::kTraining, "training"},
                                                            {"infer", Mode::kInference, "inference eval evaluation"}});
inline constexpr std::string_view kFp32Names = "float32 float f32 single full torch.float32";
inline constexpr std::string_view kFp16Names = "float16 half f16 torch.float16 torch.half";
inline constexpr std::string_view kBf16Names = "bfloat16 bfloat torch.bfloat16";
inline constexpr auto kRunTypes = std::to_array<Choice<std::optional<DType>>>({{"file", std::nullopt},
                                                                               {"fp32", DType::kFloat32, kFp32Names},
                                                                               {"fp16", DType::kFloat16, kFp16Names},
                                                                               {"bf16", DType::kBFloat16, kBf16Names}});
inline constexpr auto kAutocasts = std::to_array<Choice<std::optional<DType>>>(
    {{"none", std::nullopt, "off no"}, {"fp16", DType::kFloat16, kFp16Names}, {"bf16", DType::kBFloat16, kBf16Names}});
inline constexpr auto kSyncs = std::to_array<Choice<bool>>({{"last", false}, {"every", true}});
inline constexpr auto kSchedules =
    std::to_array<Choice<PipelineSchedule>>({{"gpipe", PipelineSchedule::kGpipe},
                                             {"1f1b", PipelineSchedule::k1F1B},
                                             {"interleaved-1f1b", PipelineSchedule::kInterleaved1F1B, "interleaved"},
                                             {"interleaved-zb", PipelineSchedule::kInterleavedZeroBubble, "zb"}});
inline constexpr auto kTensorStyles =
    std::to_array<Choice<TensorStyle>>({{"colwise", TensorStyle::kColwise},
                                        {"rowwise", TensorStyle::kRowwise},
                                        {"colwise_rep", TensorStyle::kGathered},
                                        {"embedding_rowwise", TensorStyle::kEmbedding},
                                        {"sequence", TensorStyle::kSequence},
                                        {"gather_input", TensorStyle::kGatherInput}});
inline constexpr auto kLayoutTypes =
    std::to_array<Choice<std::optional<DType>>>({{"own", std::nullopt},
                                                 {"fp32", DType::kFloat32, kFp32Names},
                                                 {"fp16", DType::kFloat16, kFp16Names},
                                                 {"bf16", DType::kBFloat16, kBf16Names}});
inline constexpr auto kLosses =
    std::to_array<Choice<LossKind>>({{"auto", LossKind::kAuto},
                                     {"sum", LossKind::kSum},
                                     {"mean", LossKind::kMean},
                                     {"cross-entropy", LossKind::kCrossEntropy, "ce cross-entropy-loss"},
                                     {"mse", LossKind::kMse, "mse-loss l2"},
                                     {"gradient", LossKind::kGradient, "given"},
                                     {"none", LossKind::kNone}});
inline constexpr auto kTrainerNames =
    std::to_array<Choice<Trainer>>({{"plain", Trainer::kPlain, "none pytorch torch"},
                                    {"hf", Trainer::kHuggingFace, "huggingface transformers hugging-face"},
                                    {"lightning", Trainer::kLightning, "pytorch-lightning pl"},
                                    {"fabric", Trainer::kFabric, "lightning-fabric"}});
inline constexpr auto kImplementations =
    std::to_array<Choice<OptimizerImplementation>>({{"foreach", OptimizerImplementation::kForeach},
                                                    {"for-loop", OptimizerImplementation::kForLoop, "loop"},
                                                    {"fused", OptimizerImplementation::kFused}});
inline constexpr auto kAttentionKernels = std::to_array<Choice<AttentionKernel>>(
    {{"auto", AttentionKernel::kAuto, "sdpa"},
     {"eager", AttentionKernel::kEager},
     {"math", AttentionKernel::kMath, "sdpa-math"},
     {"flash", AttentionKernel::kFlash, "flash-attention flash-attention-2 flash2 fa2"},
     {"efficient", AttentionKernel::kEfficient, "mem-efficient memory-efficient efficient-attention xformers"}});
inline constexpr auto kBatchNormModes = std::to_array<Choice<BatchNormMode>>(
    {{"auto", BatchNormMode::kAuto}, {"as-is", BatchNormMode::kAsIs, "file"}, {"unfold", BatchNormMode::kUnfold}});
inline constexpr auto kTiedModes = std::to_array<Choice<TiedMode>>(
    {{"auto", TiedMode::kAuto}, {"yes", TiedMode::kYes, "true on"}, {"no", TiedMode::kNo, "false off"}});
inline constexpr auto kBys = std::to_array<Choice<By>>({{"layer", By::kLayer, "layers module modules"},
                                                        {"op", By::kOp, "ops operator operators"},
                                                        {"tensor", By::kTensor, "tensors"},
                                                        {"shape", By::kShape, "shapes"},
                                                        {"category", By::kCategory, "categories"},
                                                        {"step", By::kStep, "steps timeline"}});
inline constexpr auto kBaseBits = std::to_array<Choice<BaseBits>>({{"4", BaseBits::kFour, "nf4 fp4"},
                                                                   {"4-double", BaseBits::kFourDouble, "nf4-double"},
                                                                   {"8", BaseBits::kEight, "int8"}});
inline constexpr auto kEmitted =
    std::to_array<Choice<std::string_view>>({{"pytorch", "pytorch", "torch python"}, {"json", "json"}});
inline constexpr auto kBudgetLines = std::to_array<Choice<BudgetLine>>(
    {{"device", BudgetLine::kDevice, "gpu card"}, {"live", BudgetLine::kLive, "alive"}});
inline constexpr auto kGranularities =
    std::to_array<Choice<Granularity>>({{"auto", Granularity::kAuto},
                                        {"module", Granularity::kModule, "modules layer"},
                                        {"op", Granularity::kOp, "ops operator"},
                                        {"call", Granularity::kCall, "calls"}});
inline constexpr auto kCostLines =
    std::to_array<Choice<CostLine>>({{"flops", CostLine::kFlops}, {"time", CostLine::kTime}});
inline constexpr auto kRuntimes = std::to_array<Choice<Runtime>>({{"auto", Runtime::kByFile},
                                                                  {"pytorch", Runtime::kPyTorch, "torch"},
                                                                  {"onnxruntime", Runtime::kOnnxruntime, "ort"}});
inline constexpr auto kDevices = std::to_array<Choice<Device>>({{"gpu", Device::kGpu, "cuda"}, {"cpu", Device::kCpu}});
inline constexpr auto kLikes = std::to_array<Choice<bool>>({{"base", true}});
inline constexpr auto kColors = std::to_array<Choice<ColorChoice>>({{"auto", ColorChoice::kAuto},
                                                                    {"always", ColorChoice::kAlways, "yes on"},
                                                                    {"never", ColorChoice::kNever, "no off"}});

}  // namespace onnx_mem

#endif  // ONNX_MEM_CLI_OPTIONS_OPTION_CHOICES_H_
