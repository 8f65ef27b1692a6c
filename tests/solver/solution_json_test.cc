#include "solver/methods/solution_json.h"

#include "gtest/gtest.h"

namespace onnx_mem {
namespace {

TEST(SolutionJsonTest, WritesAFeasiblePlan) {
  Solution solution;
  solution.status = SolveStatus::kFeasible;
  solution.schedule = {ScheduleStep::Compute(StepOpId(4)), ScheduleStep::Free(StepTensorId(2))};
  solution.cost = 145;
  solution.peak_bytes = 532;
  solution.lower_bound = 116;
  solution.gap = 0.2;
  solution.method = "cut";
  EXPECT_EQ(SolutionToJson(solution),
            R"({"schema":"onnx-mem/1","command":"plan","status":"feasible","cost":145,"peak":532,"lower_bound":116,)"
            R"("optimal":false,"gap":0.2,"method":"cut","schedule":[["C",4],["F",2]]})");
}

TEST(SolutionJsonTest, WritesNullsWithoutAPlan) {
  Solution solution;
  solution.lower_bound = 7;
  EXPECT_EQ(SolutionToJson(solution),
            R"({"schema":"onnx-mem/1","command":"plan","status":"unknown","cost":null,"peak":null,"lower_bound":7,)"
            R"("optimal":false,"gap":null,"method":null,"schedule":[]})");
  solution.status = SolveStatus::kInfeasible;
  solution.why = "operator 'B' needs 9 bytes";
  EXPECT_EQ(SolutionToJson(solution),
            R"({"schema":"onnx-mem/1","command":"plan","status":"infeasible","cost":null,"peak":null,)"
            R"("lower_bound":null,"optimal":false,"gap":null,"method":null,"schedule":[],)"
            R"("why":"operator 'B' needs 9 bytes"})");
}

}  // namespace
}  // namespace onnx_mem
