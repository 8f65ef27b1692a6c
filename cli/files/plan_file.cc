#include "cli/files/plan_file.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_format.h"
#include "analyzer/allocators/allocator.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/graph/whole_file.h"

namespace onnx_mem {
namespace {

using Json = nlohmann::json;

absl::Status BadPlan(const std::string& path, std::string_view what) {
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kBadPlan, absl::StrFormat("'%s': %s", path, what),
                     {R"(expected: a report of onnx-mem plan, or {"segments": [{"modules": ["layer1"]}]})"});
}

absl::StatusOr<Offload> OffloadOf(const Json& segment, const std::string& path) {
  const auto value = segment.find("offload");
  if (value == segment.end() || value->is_null()) return Offload::kNo;
  for (const Offload known : kOffloads) {
    if (*value == NameOf(known)) return known;
  }
  return BadPlan(path, R"("offload" of a segment is none of "overlapped", "waiting", "held" and "gate")");
}

absl::StatusOr<std::vector<std::string>> Names(const Json& segment, const char* key, const std::string& path) {
  std::vector<std::string> names;
  const auto list = segment.find(key);
  if (list == segment.end() || list->is_null()) return names;
  if (!list->is_array()) return BadPlan(path, absl::StrFormat("\"%s\" of a segment is not a list", key));
  for (const Json& name : *list) {
    if (!name.is_string())
      return BadPlan(path, absl::StrFormat("\"%s\" of a segment holds something other than names", key));
    names.push_back(name.get<std::string>());
  }
  return names;
}

// "settings" of a plan: null, {} or those that an allocator needs.
absl::StatusOr<std::optional<std::string>> AllocatorOf(const Json& plan, const std::string& path) {
  const auto list = plan.find("settings");
  if (list == plan.end() || list->is_null()) return std::nullopt;
  if (!list->is_object()) return BadPlan(path, "\"settings\" is not a JSON object");
  Settings settings;
  for (const auto& [variable, value] : list->items()) {
    if (!value.is_string()) return BadPlan(path, "a value of \"settings\" is not a string");
    settings.emplace(variable, value.get<std::string>());
  }
  if (settings.empty()) return std::nullopt;
  std::optional<std::string> allocator = AllocatorWith(settings);
  if (!allocator) {
    return BadPlan(path, absl::StrFormat("it needs %s, whose memory this program does not know", TextOf(settings)));
  }
  return allocator;
}

// The plan that the report chose, out of its trade-off curve.
absl::StatusOr<const Json*> ChosenPlan(const Json& report, const std::string& path) {
  const auto chosen = report.find("chosen");
  if (chosen == report.end() || !chosen->is_number_integer()) return BadPlan(path, "the report chose no plan");
  for (const Json& plan : report.at("plans")) {
    if (plan.is_object() && plan.contains("id") && plan.at("id") == *chosen) return &plan;
  }
  return BadPlan(path, "the chosen plan is not among the report's plans");
}

}  // namespace

absl::StatusOr<GivenPlan> ParsePlan(std::string_view text, const std::string& path) {
  const Json document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) return BadPlan(path, "not JSON");
  if (!document.is_object()) return BadPlan(path, "not a JSON object");
  const Json* plan = &document;
  if (document.contains("plans") && document.at("plans").is_array()) {
    ASSIGN_OR_RETURN(plan, ChosenPlan(document, path));
  }
  const auto list = plan->find("segments");
  if (list == plan->end() || !list->is_array()) return BadPlan(path, "it has no list \"segments\"");
  GivenPlan given;
  ASSIGN_OR_RETURN(given.allocator, AllocatorOf(*plan, path));
  for (const Json& item : *list) {
    if (!item.is_object()) return BadPlan(path, "a segment is not a JSON object");
    Segment segment;
    ASSIGN_OR_RETURN(segment.modules, Names(item, "modules", path));
    ASSIGN_OR_RETURN(segment.keep, Names(item, "keep", path));
    ASSIGN_OR_RETURN(segment.offload, OffloadOf(item, path));
    // A plan report names the nodes beside the modules for readers; the modules say what to wrap.
    if (segment.modules.empty()) {
      ASSIGN_OR_RETURN(segment.nodes, Names(item, "nodes", path));
    }
    if (segment.modules.empty() && segment.nodes.empty()) return BadPlan(path, "a segment names no modules or nodes");
    given.segments.push_back(std::move(segment));
  }
  return given;
}

absl::StatusOr<GivenPlan> ReadPlanFile(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path));
  return ParsePlan(text, path);
}

absl::StatusOr<Options> WithPlanFile(Options options) {
  if (!options.plan_file.empty()) {
    ASSIGN_OR_RETURN(GivenPlan given, ReadPlanFile(options.plan_file));
    options.plan = std::move(given.segments);
    if (given.allocator && !options.allocator_given) options.workload.allocator = *given.allocator;
  }
  return options;
}

}  // namespace onnx_mem
