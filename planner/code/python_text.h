// Names and numbers as Python literals.
#ifndef ONNX_MEM_PLANNER_CODE_PYTHON_TEXT_H_
#define ONNX_MEM_PLANNER_CODE_PYTHON_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace onnx_mem {

std::string Quoted(const std::string& name);
std::string QuotedList(const std::vector<std::string>& names);  // ["layer1", "layer2.0"]

// What a comprehension runs over: "range(0, 12)", "range(0, 12, 2)", "(0, 1, 5)". `numbers`: rising, at least one.
std::string SequenceOf(const std::vector<int64_t>& numbers);

// Names as a list over several lines, those that differ in a number as a comprehension: [*(f"h.{i}" for i in
// range(0, 12)),\n "head"]. Those of the same of `kinds`, one per name. `indent`: of the lines behind the first.
std::string GroupedList(const std::vector<std::string>& names, std::vector<std::string> kinds, size_t indent);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_CODE_PYTHON_TEXT_H_
