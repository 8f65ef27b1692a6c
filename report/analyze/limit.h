// What a run is held against: a budget or a card.
#ifndef ONNX_MEM_REPORT_ANALYZE_LIMIT_H_
#define ONNX_MEM_REPORT_ANALYZE_LIMIT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace onnx_mem {

struct RunSummary;

// A limit of the question.
struct Limit {
  enum class Kind { kBudget, kGpu } kind = Kind::kBudget;
  std::string name;  // of the GPU, or ""
  int64_t bytes = 0;
  std::string state = {};  // of the GPU in this machine, shown in place of the size: "local, 20 GiB free of 24 GiB"
  std::optional<int64_t> memory_bytes = {};  // of the GPU, as nvidia-smi shows it
  // Of a budget that was given as a share: what of it, and what that is ("without the plan"; "" for the run itself).
  std::optional<double> percent = {};
  int64_t of_bytes = 0;
  std::string of_what = {};
  std::shared_ptr<const std::vector<RunSummary>> runs = nullptr;  // on this GPU; null: those of the report
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_REPORT_ANALYZE_LIMIT_H_
