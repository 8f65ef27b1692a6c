// What a process takes from the card beside its tensors, by the card and by the version of PyTorch: the CUDA context,
// and the workspaces of cuBLAS. The context is in nvidia-smi's figure alone; workspaces come from the caching
// allocator, so that torch.cuda.max_memory_allocated() and max_memory_reserved() count them too.
#ifndef ONNX_MEM_ANALYZER_DEVICES_OVERHEAD_H_
#define ONNX_MEM_ANALYZER_DEVICES_OVERHEAD_H_

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "analyzer/devices/gpus.h"

namespace onnx_mem {

struct TorchVersion {
  int major = 0;
  int minor = 0;
  friend auto operator<=>(const TorchVersion&, const TorchVersion&) = default;
};

// The version whose sources the rows of overhead.cc were last read in: what is taken where nothing tells another.
inline constexpr TorchVersion kNewestTorch = {2, 15};
// The oldest: the version of the readings that the first rows are of. Before it kernels are not loaded lazily.
inline constexpr TorchVersion kOldestTorch = {1, 13};

// "2.4", "2.4.1+cu121"; nullopt: no version.
std::optional<TorchVersion> ParseTorchVersion(std::string_view text);
// The version in a file's producer, "pytorch 2.4.1"; nullopt: another producer.
std::optional<TorchVersion> TorchOfProducer(std::string_view producer);
std::string TextOf(TorchVersion version);

// Where CUDA's allocator reads its settings: "PYTORCH_ALLOC_CONF".
std::string_view AllocatorVariable(TorchVersion torch);

// What of a card decides about its overhead.
struct CardKind {
  std::string vendor;
  std::string architecture;  // a generation, as in gpus.csv: "Ampere"
  int compute_major = 0;     // 9 of 9.0
  friend bool operator==(const CardKind&, const CardKind&) = default;
};
CardKind KindOf(const Gpu& gpu);

// On what a run is taken to run.
struct Platform {
  std::optional<CardKind> card;               // nullopt: no card was named
  std::optional<TorchVersion> torch;          // --torch
  std::optional<TorchVersion> torch_of_file;  // of the record or the exporter
  bool cudnn_benchmark = false;               // torch.backends.cudnn.benchmark
  TorchVersion Torch() const { return torch.value_or(torch_of_file.value_or(kNewestTorch)); }
  friend bool operator==(const Platform&, const Platform&) = default;
};

struct Overhead {
  int64_t bytes = 0;
  int64_t low_bytes = 0;
  int64_t high_bytes = 0;
};

// The context of one process, with the kernels that a run loads, on Linux.
struct ContextRow {
  std::string_view architecture;  // "": where no card is named, and for cards without a row
  Overhead overhead;
  std::string_view source;
};
std::span<const ContextRow> ContextRows();
const ContextRow& ContextOf(const std::optional<CardKind>& card);

// A workspace that cuBLAS has from PyTorch's allocator.
struct CublasWorkspace {
  int64_t bytes = 0;      // 0: cuBLAS takes its own, outside the allocator
  bool resident = false;  // each handle keeps one from its first matrix product on; false: taken for each call
  int64_t lt_bytes = 0;   // of cuBLASLt, which adds a bias in the same call: for each call, or kept where `resident`
  friend bool operator==(const CublasWorkspace&, const CublasWorkspace&) = default;
};
CublasWorkspace CublasWorkspaceOf(TorchVersion torch, const CardKind& card);

// Whether memory-efficient attention takes keys and values with fewer heads than the queries have (enable_gqa). Where
// it does not, the products run as matrices.
bool TakesFewerKeyHeads(TorchVersion torch, const std::optional<CardKind>& card);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_DEVICES_OVERHEAD_H_
