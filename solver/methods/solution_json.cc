#include "solver/methods/solution_json.h"

#include "nlohmann/json.hpp"

namespace onnx_mem {
namespace {

const char* NameOf(SolveStatus status) {
  switch (status) {
    case SolveStatus::kFeasible: return "feasible";
    case SolveStatus::kInfeasible: return "infeasible";
    case SolveStatus::kUnknown: break;
  }
  return "unknown";
}

}  // namespace

std::string SolutionToJson(const Solution& solution) {
  nlohmann::ordered_json json;
  const bool feasible = solution.status == SolveStatus::kFeasible;
  json["schema"] = "onnx-mem/1";
  json["command"] = "plan";
  json["status"] = NameOf(solution.status);
  json["cost"] = nullptr;
  json["peak"] = nullptr;
  json["lower_bound"] = nullptr;
  if (solution.status != SolveStatus::kInfeasible) json["lower_bound"] = solution.lower_bound;
  json["optimal"] = solution.optimal;
  json["gap"] = nullptr;
  json["method"] = nullptr;
  if (feasible) {
    json["cost"] = solution.cost;
    json["peak"] = solution.peak_bytes;
    json["gap"] = solution.gap;
    json["method"] = solution.method;
  }
  json["schedule"] = nlohmann::ordered_json::array();
  for (const ScheduleStep& step : solution.schedule) {
    json["schedule"].push_back({step.kind == ScheduleStep::Kind::kCompute ? "C" : "F", step.id});
  }
  if (!solution.why.empty()) json["why"] = solution.why;
  return json.dump();
}

}  // namespace onnx_mem
