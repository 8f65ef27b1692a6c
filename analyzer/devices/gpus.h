// The cards that --gpu knows: memory as nvidia-smi shows it and as a program can use it, bandwidth, peak rates.
// The data is gpus.csv beside this file; a row there is all that a new card needs. A user adds cards, or puts right
// what is known of one, in a file of the same form that the environment variable ONNX_MEM_GPUS names; of its columns
// name and memory_mib must be there.
//
// Three totals are kept apart: the gigabytes a card is sold with, nvidia-smi's total (24564 MiB on an RTX 4090), and
// what a CUDA program sees (24217 MiB there), which is what a run has to fit into, its context included.
// Rates are dense, with fp32 accumulation. Letters in `source`: W Wikipedia's tables, F FluidX3D's README, L
// lightning-fabric, S ml-engineering, P torch's device_info, C llm.c, D derived from SMs x clock x rate, B believed.
#ifndef ONNX_MEM_ANALYZER_DEVICES_GPUS_H_
#define ONNX_MEM_ANALYZER_DEVICES_GPUS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace onnx_mem {

struct Gpu {
  std::string name;
  std::vector<std::string> aliases;
  std::string vendor;
  std::string architecture;
  std::string compute_capability;
  std::optional<int64_t> sold_gb;     // what its seller calls it
  int64_t memory_mib = 0;             // as nvidia-smi shows it
  std::string memory_kind;            // smi: read there; nominal: the size it is sold with; torch, believed
  std::optional<int64_t> usable_mib;  // what a CUDA program on Linux sees, where it was read
  std::optional<double> bandwidth_gbps;
  std::optional<int64_t> pcie_lanes;  // to the host; unset: 16; 0: it shares the host's memory
  std::optional<double> fp32_tflops;
  std::optional<double> tf32_tflops;
  std::optional<double> fp16_tflops;
  std::optional<double> bf16_tflops;
  std::string source;

  int64_t memory_bytes() const { return memory_mib << 20; }  // as nvidia-smi shows it
};

// Rows as gpus.csv has them, under a header that names their columns. Lines that begin with # and empty ones count for
// nothing. Errors: bad-gpu-file with `path` and the line.
absl::StatusOr<std::vector<Gpu>> ParseGpus(std::string_view text, const std::string& path);

// All cards: the user's own, then those of gpus.csv in its order.
const std::vector<Gpu>& Gpus();

// OK iff the file that ONNX_MEM_GPUS names, if it names one, was read. Errors: not-found, and those of ParseGpus.
absl::Status CheckUsersGpus();

// The card called `name` (case, spaces and dashes do not matter). Errors: unknown-gpu with suggestions; ambiguous-gpu
// where cards of different size share the name; those of CheckUsersGpus.
absl::StatusOr<Gpu> FindGpu(std::string_view name);

// What to type for each card: its name and other names without spaces, each spelling once ("RTX-4090"). FindGpu takes
// them all.
std::vector<std::string> GpuWords();

// The cards whose name, or another name of theirs, has `words` in it: "4090" finds the desktop's and the laptop's.
// Errors: unknown-gpu with suggestions where there is none; those of CheckUsersGpus.
absl::StatusOr<std::vector<Gpu>> GpusWith(std::string_view words);

// Bytes that a process can use, its context included: as read, else nvidia-smi's total less the common gap.
int64_t UsableBytes(const Gpu& gpu);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_DEVICES_GPUS_H_
