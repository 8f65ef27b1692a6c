// Layers and operators of two sides that are the same ones, and what is on one side only.
#ifndef ONNX_MEM_REPORT_COMPARE_MATCHING_H_
#define ONNX_MEM_REPORT_COMPARE_MATCHING_H_

#include <string_view>
#include <vector>

#include "report/compare/comparison.h"

namespace onnx_mem {

// Largest difference first.
std::vector<LayerChange> CompareLayers(const std::vector<LayerFigures>& base, const std::vector<LayerFigures>& head);

// Largest first.
std::vector<OperatorChange> CompareCalls(const std::vector<OperatorCall>& base, const std::vector<OperatorCall>& head);

// A module's path.
bool IsPath(std::string_view name);

}  // namespace onnx_mem

#endif  // ONNX_MEM_REPORT_COMPARE_MATCHING_H_
