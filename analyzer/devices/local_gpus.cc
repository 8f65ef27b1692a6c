#include "analyzer/devices/local_gpus.h"

#include <dlfcn.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/order/stable_sort.h"

namespace onnx_mem {
namespace {

// What NVML's header declares, as far as it is used here.
using NvmlReturn = int;
using NvmlDevice = void*;
constexpr NvmlReturn kNvmlSuccess = 0;
constexpr NvmlReturn kNvmlInsufficientSize = 7;
constexpr unsigned kNameLength = 96;     // NVML_DEVICE_NAME_V2_BUFFER_SIZE
constexpr unsigned kVersionLength = 80;  // NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE

struct NvmlMemory {
  unsigned long long total, free, used;
};

struct NvmlProcessV1 {
  unsigned pid;
  unsigned long long used_bytes;
};

struct NvmlProcessV2 {
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance, compute_instance;
};

struct Nvml {
  NvmlReturn (*init)() = nullptr;
  NvmlReturn (*shutdown)() = nullptr;
  NvmlReturn (*count)(unsigned*) = nullptr;
  NvmlReturn (*handle)(unsigned, NvmlDevice*) = nullptr;
  NvmlReturn (*name)(NvmlDevice, char*, unsigned) = nullptr;
  NvmlReturn (*memory)(NvmlDevice, NvmlMemory*) = nullptr;
  // Absent in some drivers. The third version of the processes is not requested: some 535 drivers write larger
  // records there than their header says.
  NvmlReturn (*processes_v1)(NvmlDevice, unsigned*, NvmlProcessV1*) = nullptr;
  NvmlReturn (*processes_v2)(NvmlDevice, unsigned*, NvmlProcessV2*) = nullptr;
  NvmlReturn (*process_name)(unsigned, char*, unsigned) = nullptr;
  NvmlReturn (*driver_version)(char*, unsigned) = nullptr;
};

absl::Status NoDriver(std::string_view why) {
  return ErrorStatus(absl::StatusCode::kUnavailable, Code::kNoDriver,
                     "no NVIDIA driver on this machine to read a GPU from",
                     {absl::StrCat("why: ", absl::string_view(why.data(), why.size())),
                      "way out: --gpu NAME, a card by its name (onnx-mem gpus lists them)",
                      "try: ... --gpu-memory 24GiB   # or another size"});
}

absl::Status Unreadable(Code code, std::string_view message) {
  return ErrorStatus(absl::StatusCode::kUnavailable, code, message,
                     {"try: nvidia-smi", "way out: --gpu NAME or --gpu-memory SIZE"});
}

template <typename Function>
bool Load(void* library, const char* symbol, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, symbol));
  return function != nullptr;
}

absl::StatusOr<Nvml> LoadCalls(void* library, const char* path) {
  Nvml nvml;
  const char* missing = nullptr;
  const auto need = [&](const char* symbol, auto& function) {
    if (!Load(library, symbol, function) && missing == nullptr) missing = symbol;
  };
  need("nvmlInit_v2", nvml.init);
  need("nvmlShutdown", nvml.shutdown);
  need("nvmlDeviceGetCount_v2", nvml.count);
  need("nvmlDeviceGetHandleByIndex_v2", nvml.handle);
  need("nvmlDeviceGetName", nvml.name);
  need("nvmlDeviceGetMemoryInfo", nvml.memory);
  if (missing != nullptr) return NoDriver(absl::StrCat(path, " has no ", missing));
  Load(library, "nvmlDeviceGetComputeRunningProcesses", nvml.processes_v1);
  Load(library, "nvmlDeviceGetComputeRunningProcesses_v2", nvml.processes_v2);
  Load(library, "nvmlSystemGetProcessName", nvml.process_name);
  Load(library, "nvmlSystemGetDriverVersion", nvml.driver_version);
  return nvml;
}

// The records of one card's processes; a second try where more were started since they were counted.
template <typename Record>
std::vector<Record> RecordsOf(NvmlReturn (*list)(NvmlDevice, unsigned*, Record*), NvmlDevice device) {
  unsigned room = 64;
  for (int attempt = 0; attempt < 3; ++attempt) {
    std::vector<Record> records(room);
    unsigned count = room;
    const NvmlReturn result = list(device, &count, records.data());
    if (result == kNvmlSuccess) {
      records.resize(std::min(count, room));
      return records;
    }
    if (result != kNvmlInsufficientSize) return {};
    room = std::min(std::max(count, room) * 2, 1U << 16);
  }
  return {};
}

template <typename Record>
std::vector<GpuProcess> ToProcesses(const std::vector<Record>& records, const Nvml& nvml) {
  std::vector<GpuProcess> processes;
  for (const Record& record : records) {
    GpuProcess process;
    process.pid = record.pid;
    // All bits set is NVML's "not available".
    if (record.used_bytes <= static_cast<unsigned long long>(std::numeric_limits<int64_t>::max())) {
      process.used_bytes = static_cast<int64_t>(record.used_bytes);
    }
    char name[256] = {};
    if (nvml.process_name != nullptr && nvml.process_name(record.pid, name, sizeof name - 1) == kNvmlSuccess) {
      process.name = name;
    }
    processes.push_back(std::move(process));
  }
  StableSort(processes, [](const GpuProcess& a, const GpuProcess& b) {
    return a.used_bytes.value_or(-1) > b.used_bytes.value_or(-1);
  });
  return processes;
}

std::vector<GpuProcess> ProcessesOf(const Nvml& nvml, NvmlDevice device) {
  if (nvml.processes_v2 != nullptr) return ToProcesses(RecordsOf(nvml.processes_v2, device), nvml);
  if (nvml.processes_v1 != nullptr) return ToProcesses(RecordsOf(nvml.processes_v1, device), nvml);
  return {};
}

std::string DriverOf(const Nvml& nvml) {
  char version[kVersionLength + 1] = {};
  if (nvml.driver_version == nullptr || nvml.driver_version(version, kVersionLength) != kNvmlSuccess) return "";
  return version;
}

std::optional<LocalGpu> ReadGpu(const Nvml& nvml, unsigned index) {
  NvmlDevice device = nullptr;
  char name[kNameLength + 1] = {};
  NvmlMemory memory = {};
  if (nvml.handle(index, &device) != kNvmlSuccess) return std::nullopt;
  if (nvml.name(device, name, kNameLength) != kNvmlSuccess) return std::nullopt;
  if (nvml.memory(device, &memory) != kNvmlSuccess) return std::nullopt;
  const bool sane = memory.total <= static_cast<unsigned long long>(std::numeric_limits<int64_t>::max()) &&
                    memory.free <= memory.total && memory.used <= memory.total;
  if (!sane) return std::nullopt;
  return LocalGpu{index,
                  name,
                  static_cast<int64_t>(memory.total),
                  static_cast<int64_t>(memory.used),
                  static_cast<int64_t>(memory.free),
                  DriverOf(nvml),
                  ProcessesOf(nvml, device)};
}

absl::StatusOr<std::vector<LocalGpu>> ReadStarted(const Nvml& nvml) {
  unsigned count = 0;
  if (nvml.count(&count) != kNvmlSuccess)
    return Unreadable(Code::kGpuUnreadable, "the NVIDIA driver does not count its GPUs");
  if (count == 0) return Unreadable(Code::kNoGpu, "the NVIDIA driver of this machine has no GPU");
  std::vector<LocalGpu> gpus;
  for (unsigned index = 0; index < count; ++index) {
    std::optional<LocalGpu> gpu = ReadGpu(nvml, index);
    if (gpu) gpus.push_back(*std::move(gpu));
  }
  if (gpus.empty()) return Unreadable(Code::kGpuUnreadable, "the NVIDIA driver does not tell the memory of any GPU");
  return gpus;
}

}  // namespace

absl::StatusOr<std::vector<LocalGpu>> ReadLocalGpus(const char* library) {
  const std::unique_ptr<void, int (*)(void*)> open(dlopen(library, RTLD_NOW | RTLD_LOCAL), &dlclose);
  if (!open) {
    const char* why = dlerror();
    return NoDriver(why != nullptr ? why : library);
  }
  ASSIGN_OR_RETURN(const Nvml nvml, LoadCalls(open.get(), library));
  const NvmlReturn started = nvml.init();
  if (started != kNvmlSuccess) return NoDriver(absl::StrCat("nvmlInit_v2 returns error ", started));
  absl::StatusOr<std::vector<LocalGpu>> gpus = ReadStarted(nvml);
  nvml.shutdown();
  return gpus;
}

const LocalGpu& FreestOf(const std::vector<LocalGpu>& gpus) {
  return *std::max_element(gpus.begin(), gpus.end(),
                           [](const LocalGpu& a, const LocalGpu& b) { return a.free_bytes < b.free_bytes; });
}

}  // namespace onnx_mem
