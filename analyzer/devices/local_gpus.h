// The NVIDIA driver's library -> the cards in this machine and what is free on each, at this moment.
//
// The library is opened while the program runs, so that onnx-mem needs no driver to build or to start. The calls are
// those of NVML (docs.nvidia.com/deploy/nvml-api): nvmlDeviceGetMemoryInfo's total, free and used, where `used` counts
// what the driver reserved too, and `free` is what a new process can take, its context included.
#ifndef ONNX_MEM_ANALYZER_DEVICES_LOCAL_GPUS_H_
#define ONNX_MEM_ANALYZER_DEVICES_LOCAL_GPUS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace onnx_mem {

struct GpuProcess {
  int64_t pid = 0;
  std::string name;                   // path of its program; "" where the driver does not tell
  std::optional<int64_t> used_bytes;  // unknown in containers and under MIG
};

struct LocalGpu {
  int64_t index = 0;  // as in nvidia-smi
  std::string name;   // "NVIDIA GeForce RTX 4090"
  int64_t total_bytes = 0;
  int64_t used_bytes = 0;
  int64_t free_bytes = 0;
  std::string driver;                 // its version: "570.86.15"; "" where it does not tell
  std::vector<GpuProcess> processes;  // that compute on it, the largest first; empty where the driver does not tell
};

// The driver's library for asking.
#ifdef _WIN32
inline constexpr char kNvml[] = "nvml.dll";
#else
inline constexpr char kNvml[] = "libnvidia-ml.so.1";
#endif

// In the order of nvidia-smi; at least one. A card that the driver lists but does not let be read is left out.
// `library` is a file name for dlopen. Errors: no-driver where the library is missing, lacks a call or does not start;
// no-gpu where it tells of no card; gpu-unreadable where every card was left out.
absl::StatusOr<std::vector<LocalGpu>> ReadLocalGpus(const char* library = kNvml);

// The one with most free memory, the first of equals. `gpus` holds at least one.
const LocalGpu& FreestOf(const std::vector<LocalGpu>& gpus);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_DEVICES_LOCAL_GPUS_H_
