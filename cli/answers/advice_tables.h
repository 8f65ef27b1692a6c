// Advice -> the tables that reports show: what would save most, and the ways to make a batch fit.
#ifndef ONNX_MEM_CLI_ANSWERS_ADVICE_TABLES_H_
#define ONNX_MEM_CLI_ANSWERS_ADVICE_TABLES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/advice/fit.h"
#include "planner/advice/joint.h"
#include "planner/advice/savings.h"
#include "report/parts/table.h"

namespace onnx_mem {

// "savings", largest first.
Table SavingsTable(const std::vector<Saving>& savings);

// "together", fastest first; `rates` names the card that times are known by.
Table JointTable(const std::vector<JointRun>& runs, std::string_view rates, int64_t samples);

// What ways are for.
struct WaysFor {
  std::string card = {};              // "" where there is one alone
  std::optional<int64_t> ranks = {};  // where fit chose the number
  bool spread = false;                // over several cards
  std::string plan_command = {};      // that prints a plan for ranks; "" where no command line is known
};

// "ways", cheapest first.
Table WaysTable(const std::vector<FitWay>& ways, const WaysFor& about);

}  // namespace onnx_mem

#endif  // ONNX_MEM_CLI_ANSWERS_ADVICE_TABLES_H_
