// A driver's library with two cards: 24 GiB with 20 free and two processes, and 80 GiB with 70 free whose processes
// it does not tell. It counts starts and stops, so that a test sees that both happen.
#include <cstring>

namespace {

constexpr unsigned long long kGiB = 1ULL << 30;
int cards[2];

struct Memory {
  unsigned long long total, free, used;
};

struct Process {
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance, compute_instance;
};

}  // namespace

extern "C" {

int fake_nvml_running = 0;

int nvmlInit_v2() {
  ++fake_nvml_running;
  return 0;
}

int nvmlShutdown() {
  --fake_nvml_running;
  return 0;
}

int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 3;  // the third has fallen off the bus
  return fake_nvml_running == 1 ? 0 : 1;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (index >= 2) return 15;
  *device = &cards[index];
  return 0;
}

int nvmlDeviceGetName(void* device, char* name, unsigned length) {
  std::strncpy(name, device == &cards[0] ? "NVIDIA GeForce RTX 4090" : "NVIDIA A100-SXM4-80GB", length);
  return 0;
}

int nvmlDeviceGetMemoryInfo(void* device, Memory* memory) {
  *memory = device == &cards[0] ? Memory{24 * kGiB, 20 * kGiB, 4 * kGiB} : Memory{80 * kGiB, 70 * kGiB, 10 * kGiB};
  return 0;
}

int nvmlDeviceGetComputeRunningProcesses_v2(void* device, unsigned* count, Process* processes) {
  if (device != &cards[0]) return 3;
  if (*count < 100) {  // more than a caller expects
    *count = 100;
    return 7;
  }
  processes[0] = {41, ~0ULL, 0, 0};
  processes[1] = {42, 1 * kGiB, 0, 0};
  processes[2] = {43, 2 * kGiB, 0, 0};
  *count = 3;
  return 0;
}

int nvmlSystemGetDriverVersion(char* version, unsigned length) {
  std::strncpy(version, "570.86.15", length);
  return 0;
}

int nvmlSystemGetProcessName(unsigned pid, char* name, unsigned length) {
  if (pid != 43) return 6;
  std::strncpy(name, "/usr/bin/python3", length);
  return 0;
}

}  // extern "C"
