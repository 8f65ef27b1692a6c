// A step graph's solution for people:
//
//   resnet-b4: cost 640 within 308 (peak 306), 82 more than without a budget (+14.7 %)
//   proven: no schedule costs less than 640
//
//   runs again     times   cost
//   conv2              1     40
#ifndef ONNX_MEM_REPORT_PLAN_SOLUTION_H_
#define ONNX_MEM_REPORT_PLAN_SOLUTION_H_

#include <cstdint>
#include <string>

#include "solver/methods/solve.h"
#include "solver/problem/problem.h"

namespace onnx_mem {

std::string SolutionText(const StepGraph& graph, int64_t budget_bytes, const Solution& solution);

}  // namespace onnx_mem

#endif  // ONNX_MEM_REPORT_PLAN_SOLUTION_H_
