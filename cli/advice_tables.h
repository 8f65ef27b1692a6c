// Advice -> the tables that reports show: what would save most, and the ways to make a batch fit.
#ifndef ONNX_MEM_CLI_ADVICE_TABLES_H_
#define ONNX_MEM_CLI_ADVICE_TABLES_H_

#include <vector>

#include "cli/report/table.h"
#include "planner/advice/fit.h"
#include "planner/advice/savings.h"

namespace onnx_mem {

// "savings", largest first.
Table SavingsTable(const std::vector<Saving>& savings);

// "ways", cheapest first.
Table WaysTable(const std::vector<FitWay>& ways);

}  // namespace onnx_mem

#endif  // ONNX_MEM_CLI_ADVICE_TABLES_H_
