// The entries of an emitted plan as Python.
#ifndef ONNX_MEM_PLANNER_CODE_PLAN_ENTRIES_H_
#define ONNX_MEM_PLANNER_CODE_PLAN_ENTRIES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace onnx_mem {

struct PlanEntry {
  std::vector<std::string> modules;
  std::string before;               // of the rest of its dict: ", \"offload\": \"waiting\""
  std::vector<int64_t> parameters;  // one per module, or none
  std::string after;                // and what stands behind them
  int64_t frees_bytes = 0;
  int calls = 1;
};

// With thousands marked by commas.
std::string Thousands(int64_t value);

// Items of the list, each with what is said of it in a comment: one for each entry, and one comprehension, of two
// lines, for blocks that differ in a number.
struct EntryLine {
  std::string item;
  std::string remark;
};
std::vector<EntryLine> EntryLines(const std::vector<PlanEntry>& entries);

// `items`, each with a comma behind it, in at most so many lines, which are no longer than that takes.
std::string InLines(const std::vector<std::string>& items, std::string_view indent, int64_t most_lines);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_CODE_PLAN_ENTRIES_H_
