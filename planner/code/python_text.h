// Names as Python literals.
#ifndef ONNX_MEM_PLANNER_CODE_PYTHON_TEXT_H_
#define ONNX_MEM_PLANNER_CODE_PYTHON_TEXT_H_

#include <string>
#include <vector>

namespace onnx_mem {

std::string Quoted(const std::string& name);
std::string QuotedList(const std::vector<std::string>& names);  // ["layer1", "layer2.0"]

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_CODE_PYTHON_TEXT_H_
