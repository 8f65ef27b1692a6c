// Names of repeated blocks, as a person writes them.
//
//   h.0.mlp  h.1.mlp  h.2.mlp  h.5.mlp  head   ->   h.{0..2,5}.mlp  head
//   h.0  h.2  h.4  h.6                         ->   h.{0..6..2}, every second one
#ifndef ONNX_MEM_PLANNER_CODE_NAME_PATTERNS_H_
#define ONNX_MEM_PLANNER_CODE_NAME_PATTERNS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace onnx_mem {

struct NameGroup {
  std::string before;            // of the number; the whole name where there is only one
  std::vector<int64_t> numbers;  // rising; empty: a name alone
  std::string after;
  std::vector<size_t> members;  // indices of the names, in order of the numbers
};

// Names that differ in one number alone, sooner a later one in the name, are one group where `kinds` (one per name) are
// the same and there are at least three; groups stand where their first name does. An empty name stands alone.
std::vector<NameGroup> GroupNames(const std::vector<std::string>& names, const std::vector<std::string>& kinds);

std::string TextOf(const NameGroup& group);  // "h.{0..2,5}.mlp"

// The step from each number to the next; 0 where they differ.
int64_t StepOf(const std::vector<int64_t>& numbers);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_CODE_NAME_PATTERNS_H_
