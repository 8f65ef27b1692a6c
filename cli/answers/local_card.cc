#include "cli/answers/local_card.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "analyzer/graph/status_macros.h"

namespace onnx_mem {
namespace {

constexpr size_t kMostProcesses = 3;

// The last part of a program's path: "python3".
std::string ProgramOf(const GpuProcess& process) { return process.name.substr(process.name.rfind('/') + 1); }

}  // namespace

bool IsLocal(std::string_view gpu) {
  return absl::EqualsIgnoreCase(absl::string_view(gpu.data(), gpu.size()), "local");
}

absl::StatusOr<std::optional<LocalCard>> LocalCardOf(std::string_view gpu) {
  if (!IsLocal(gpu)) return std::optional<LocalCard>();
  ASSIGN_OR_RETURN(const std::vector<LocalGpu> gpus, ReadLocalGpus());
  return std::optional<LocalCard>({FreestOf(gpus), static_cast<int64_t>(gpus.size())});
}

std::string StateText(const LocalCard& card, ByteUnit units) {
  const LocalGpu& gpu = card.gpu;
  return absl::StrFormat("local%s, %s free of %s",
                         card.of > 1 ? absl::StrFormat(" GPU %d, the freest of %d", gpu.index, card.of) : "",
                         FormatBytesIn(gpu.free_bytes, units), FormatBytesIn(gpu.total_bytes, units));
}

std::string LargestProcesses(const LocalGpu& gpu, ByteUnit units) {
  std::string text;
  for (size_t i = 0; i < std::min(gpu.processes.size(), kMostProcesses); ++i) {
    const GpuProcess& process = gpu.processes[i];
    if (i > 0) text += ", ";
    if (process.used_bytes) text += FormatBytesIn(*process.used_bytes, units) + " ";
    const std::string program = ProgramOf(process);
    text +=
        program.empty() ? absl::StrFormat("pid %d", process.pid) : absl::StrFormat("%s (pid %d)", program, process.pid);
  }
  return text;
}

Diagnostic UseNote(const LocalGpu& gpu, ByteUnit units) {
  const std::string processes = LargestProcesses(gpu, units);
  Diagnostic note;
  note.code = Code::kLocalGpu;
  note.message = absl::StrFormat("%s has %s in use%s", gpu.name, FormatBytesIn(gpu.used_bytes, units),
                                 processes.empty() ? "" : ": " + processes);
  note.bytes = gpu.used_bytes;
  return note;
}

}  // namespace onnx_mem
