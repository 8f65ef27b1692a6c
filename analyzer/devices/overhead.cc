#include "analyzer/devices/overhead.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "absl/strings/str_cat.h"

namespace onnx_mem {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr Overhead InMiB(int64_t expected, int64_t low, int64_t high) {
  return {expected * kMiB, low * kMiB, high * kMiB};
}

// Readings of processes that load kernels lazily (CUDA 11.7 and later). A bare context is the low end; kernels and the
// handles of libraries come on top as a run uses them, for which there is no reading by generation.
constexpr auto kContexts = std::to_array<ContextRow>({
    {"", InMiB(400, 250, 700),
     "274 MiB (pytorch#86509), 300 (pytorch#107667), 400 (pytorch#109888), of cards that are not named"},
    {"Volta", InMiB(400, 300, 700),
     "319 MiB bare, without PyTorch's kernels (TITAN V, pytorch#28394); no reading above"},
    {"Ampere", InMiB(400, 250, 700),
     "256 MiB bare (RTX 3090, torch 2.7, invoke-ai/InvokeAI#9413); 789 MiB with the buffers of NCCL (A100, "
     "meta-pytorch/torchrec#3580)"},
    {"Ada", InMiB(500, 425, 800),
     "426 MiB bare (RTX 6000 Ada, torch 2.10, unslothai/unsloth-zoo#1053); no reading above"},
    {"Hopper", InMiB(500, 250, 900), "no reading: between those of Ampere and Blackwell"},
    {"Blackwell", InMiB(700, 550, 1000),
     "0.6 GiB and 0.7 GiB bare (B300 and B200, torch 2.11, sgl-project/sglang#25225); no reading above"},
    {"Turing", InMiB(400, 250, 900), "no reading with lazy loading; 879 MiB without (RTX 2080 Ti, pytorch#49877)"},
});

// aten/src/ATen/cuda/CublasHandlePool.cpp, parseChosenWorkspaceSize: :4096:2:16:8, in KiB.
constexpr int64_t kWorkspaceBytes = (2 * 4096 + 8 * 16) << 10;
constexpr int64_t kWideWorkspaceBytes = 32 * kMiB;
constexpr int64_t kLtWorkspaceBytes = kMiB;  // parseCUDABlasLtWorkspaceSize there, before it _parseChosenWorkspaceSize

// What changed in a version; what a row says holds until the next. Read in CublasHandlePool.cpp of each and in the
// machine code of the packages (at::cuda::parseChosenWorkspaceSize in libtorch_cuda.so), and in their headers
// (ATen/cuda/CUDAContextLight.h: 2.14 has no getCurrentCUDABlasHandleWithWorkspace, 2.15 has).
struct CublasRow {
  TorchVersion from;
  bool from_allocator;  // false: cublasCreate takes it from the device
  bool resident;
  bool lt_shares;                // cuBLASLt works in the handle's own workspace
  std::string_view wide_majors;  // of compute capabilities with kWideWorkspaceBytes, 'a' for 10 and so on
  std::string_view source;
};
constexpr auto kCublasRows = std::to_array<CublasRow>({
    {{0, 0}, false, false, false, "", "no cublasSetWorkspace; pytorch#95668: 1.13 allocates nothing"},
    {{2, 0},
     true,
     true,
     false,
     "9",
     "a workspace for each handle and stream (pytorch#83461), its size (pytorch#91564)"},
    {{2, 11}, true, true, true, "9", "cuBLASLt shares it (pytorch#168175)"},
    {{2, 12}, true, true, true, "9ac", "32 MiB on Blackwell too (pytorch#175344)"},
    {{2, 14}, true, true, true, "9abc", "and on compute capability 11"},
    {{2, 15}, true, false, false, "9abc", "taken for each call unless TORCH_CUBLAS_WORKSPACE_CACHE=1 (pytorch#194311)"},
});

// ROCm: the same file, USE_ROCM. Nothing from the allocator before pytorch#138791, which is in 2.6; kept since then.
constexpr TorchVersion kRocmFrom = {2, 6};
constexpr int64_t kRocmWorkspaceBytes = 32 * kMiB;
constexpr int64_t kRocmWideWorkspaceBytes = 128 * kMiB;  // gfx94x and gfx95x

// Which kernels attention may choose, where a version changed it; what a row says holds until the next. Read in the
// headers of 2.13, 2.14 and 2.15 (ATen/native/transformers/cuda/mem_eff_attention/kernel_forward.h has q_heads_per_kv
// from 2.14 on) and in sdp_utils.cpp, can_use_mem_efficient_attention.
struct AttentionRow {
  TorchVersion from;
  bool fewer_key_heads;          // of the memory-efficient kernel; flash and cuDNN's have it since enable_gqa (2.5)
  bool fewer_key_heads_on_rocm;  // USE_ROCM there: supports_gqa = false
  std::string_view source;
};
constexpr auto kAttentionRows = std::to_array<AttentionRow>({
    {{0, 0}, false, false, "check_batch_size_and_num_heads_dense<false /*supports_gqa*/>"},
    {{2, 14}, true, false, "supports_gqa = true (pytorch#191085)"},
});

// The row of `rows`, which ascend, that holds for `torch`.
template <typename Row, size_t kSize>
const Row& RowFor(const std::array<Row, kSize>& rows, TorchVersion torch) {
  const auto next = std::find_if(rows.begin() + 1, rows.end(), [&](const Row& row) { return torch < row.from; });
  return *(next - 1);
}

char DigitOf(int major) { return static_cast<char>(major < 10 ? '0' + major : 'a' + major - 10); }

CublasWorkspace RocmWorkspaceOf(TorchVersion torch, const CardKind& card) {
  if (torch < kRocmFrom) return {};
  const bool wide = card.architecture == "CDNA3" || card.architecture == "CDNA4";
  return {.bytes = wide ? kRocmWideWorkspaceBytes : kRocmWorkspaceBytes, .resident = true, .lt_bytes = 0};
}

}  // namespace

std::optional<TorchVersion> ParseTorchVersion(std::string_view text) {
  TorchVersion version;
  const char* const end = text.data() + text.size();
  const auto [dot, error] = std::from_chars(text.data(), end, version.major);
  if (error != std::errc() || dot == end || *dot != '.') return std::nullopt;
  const auto [rest, wrong] = std::from_chars(dot + 1, end, version.minor);
  if (wrong != std::errc() || version.major < 0 || version.minor < 0) return std::nullopt;
  if (rest != end && *rest != '.' && *rest != '+' && *rest != 'a' && *rest != 'r') return std::nullopt;
  return version;
}

std::optional<TorchVersion> TorchOfProducer(std::string_view producer) {
  constexpr std::string_view kPyTorch = "pytorch ";
  if (!producer.starts_with(kPyTorch)) return std::nullopt;
  return ParseTorchVersion(producer.substr(kPyTorch.size()));
}

std::string TextOf(TorchVersion version) { return absl::StrCat(version.major, ".", version.minor); }

// pytorch#183387: 2.9 knows the new name, and CUDA's allocator does not read expandable_segments from it. Both are read
// in 2.15 (c10/cuda/CUDAAllocatorConfig.h); what lies between was not read.
std::string_view AllocatorVariable(TorchVersion torch) {
  constexpr TorchVersion kRenamed = {2, 10};
  return torch < kRenamed ? "PYTORCH_CUDA_ALLOC_CONF" : "PYTORCH_ALLOC_CONF";
}

CardKind KindOf(const Gpu& gpu) {
  CardKind kind{gpu.vendor, gpu.architecture, 0};
  if (const auto capability = ParseTorchVersion(gpu.compute_capability)) kind.compute_major = capability->major;
  return kind;
}

std::span<const ContextRow> ContextRows() { return kContexts; }

const ContextRow& ContextOf(const std::optional<CardKind>& card) {
  const auto row = std::find_if(kContexts.begin(), kContexts.end(), [&](const ContextRow& each) {
    return card && !each.architecture.empty() && each.architecture == card->architecture;
  });
  return row == kContexts.end() ? kContexts.front() : *row;
}

CublasWorkspace CublasWorkspaceOf(TorchVersion torch, const CardKind& card) {
  if (card.vendor == "AMD") return RocmWorkspaceOf(torch, card);
  const CublasRow& row = RowFor(kCublasRows, torch);
  if (!row.from_allocator) return {.lt_bytes = kLtWorkspaceBytes};
  const bool wide = row.wide_majors.find(DigitOf(card.compute_major)) != std::string_view::npos;
  return {.bytes = wide ? kWideWorkspaceBytes : kWorkspaceBytes,
          .resident = row.resident,
          .lt_bytes = row.lt_shares ? 0 : kLtWorkspaceBytes};
}

bool TakesFewerKeyHeads(TorchVersion torch, const std::optional<CardKind>& card) {
  const AttentionRow& row = RowFor(kAttentionRows, torch);
  return card && card->vendor == "AMD" ? row.fewer_key_heads_on_rocm : row.fewer_key_heads;
}

}  // namespace onnx_mem
