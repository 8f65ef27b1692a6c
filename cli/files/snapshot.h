// What torch.cuda.memory._dump_snapshot wrote, or our own -o x.pickle -> what was allocated at its peak, and by whom.
// Nothing of the file is executed (pickle_reader.h).
#ifndef ONNX_MEM_CLI_FILES_SNAPSHOT_H_
#define ONNX_MEM_CLI_FILES_SNAPSHOT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace onnx_mem {

struct SnapshotBlock {
  int64_t bytes = 0;  // as requested
  std::string where;  // the innermost frame that is not of the framework's own C++: "model.py:41 forward"; "" unknown
};

struct Snapshot {
  int64_t requested_peak_bytes = 0;   // the most that was requested at once
  int64_t allocated_peak_bytes = 0;   // the same in blocks of 512 bytes: torch.cuda.max_memory_allocated()
  int64_t reserved_peak_bytes = 0;    // torch.cuda.max_memory_reserved()
  int64_t events = 0;                 // 0: the file has no history, and the peak is the moment of the snapshot
  std::vector<SnapshotBlock> blocks;  // alive at the peak, the largest first
};

// Of the device that holds most. `path` is for messages. Error: bad-pickle.
absl::StatusOr<Snapshot> ParseSnapshot(std::string_view bytes, const std::string& path);

// Errors also: those of ReadWholeFile.
absl::StatusOr<Snapshot> ReadSnapshot(const std::string& path);

}  // namespace onnx_mem

#endif  // ONNX_MEM_CLI_FILES_SNAPSHOT_H_
