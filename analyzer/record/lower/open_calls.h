// The calls of a recorded program that have begun and not returned: of modules, and of torch.utils.checkpoint.
#ifndef ONNX_MEM_ANALYZER_RECORD_LOWER_OPEN_CALLS_H_
#define ONNX_MEM_ANALYZER_RECORD_LOWER_OPEN_CALLS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "analyzer/graph/lowered.h"

namespace onnx_mem::record {

class OpenModules {
 public:
  // The second call of a module is "path_1".
  void Enter(const std::string& path) {
    const int64_t count = ++calls_of_[path];
    calls_.push_back(count == 1 ? path : absl::StrCat(path, "_", count - 1));
    modules_.push_back(path);
  }
  void Leave() {
    if (calls_.empty()) return;
    calls_.pop_back();
    modules_.pop_back();
  }
  // Says of a node that it ran here.
  void Place(FrameworkNode& node) const {
    if (!modules_.empty()) node.module = modules_.back();
    node.calls = calls_;
  }

 private:
  std::vector<std::string> calls_, modules_;
  absl::flat_hash_map<std::string, int64_t> calls_of_;
};

// A call within a call is a part of the outer one.
class OpenCheckpoint {
 public:
  // Whether it is the outermost, whose arguments the caller adds.
  bool Start(int32_t next_node, bool reentrant) {
    if (depth_++ > 0) return false;
    call_ = {.span = {next_node, -1}, .reentrant = reentrant};
    return true;
  }
  CheckpointCall& call() { return call_; }
  // The outermost call that ends here; nullopt where another is open, or no node ran in it.
  std::optional<CheckpointCall> End(int32_t next_node) {
    if (--depth_ > 0) return std::nullopt;
    call_.span.last = next_node - 1;
    if (call_.span.last < call_.span.first) return std::nullopt;
    return std::exchange(call_, {});
  }

 private:
  CheckpointCall call_;
  int depth_ = 0;
};

}  // namespace onnx_mem::record

#endif  // ONNX_MEM_ANALYZER_RECORD_LOWER_OPEN_CALLS_H_
