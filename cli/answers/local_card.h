// "--gpu local" -> the card of this machine with most free memory, and how a report tells of it.
#ifndef ONNX_MEM_CLI_ANSWERS_LOCAL_CARD_H_
#define ONNX_MEM_CLI_ANSWERS_LOCAL_CARD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "analyzer/devices/local_gpus.h"
#include "analyzer/graph/bytes.h"
#include "analyzer/graph/diagnostic.h"

namespace onnx_mem {

struct LocalCard {
  LocalGpu gpu;
  int64_t of = 1;  // cards in this machine
};

// "local", in either case.
bool IsLocal(std::string_view gpu);

// Nothing where `gpu`, the value of --gpu, is not "local". Errors: those of ReadLocalGpus.
absl::StatusOr<std::optional<LocalCard>> LocalCardOf(std::string_view gpu);

// "local, 20.0 GiB free of 24.0 GiB"; of several cards "local GPU 1, the freest of 2, 70.0 GiB free of 80.0 GiB".
std::string StateText(const LocalCard& card, ByteUnit units);

// "2.00 GiB python3 (pid 43), 1.00 GiB pid 42"; "" where none is known.
std::string LargestProcesses(const LocalGpu& gpu, ByteUnit units);

// What is in use on the card, and by whom.
Diagnostic UseNote(const LocalGpu& gpu, ByteUnit units);

}  // namespace onnx_mem

#endif  // ONNX_MEM_CLI_ANSWERS_LOCAL_CARD_H_
