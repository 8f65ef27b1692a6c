#include "cli/files/plan_file.h"

#include <limits>
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

// Of all that a module saves.
absl::StatusOr<Offload> OffloadOf(const Json& segment, const std::string& path) {
  const auto value = segment.find("offload");
  if (value == segment.end() || value->is_null()) return Offload::kNo;
  for (const Offload known : kOffloads) {
    if (*value == NameOf(known)) return known;
  }
  return BadPlan(path,
                 R"("offload" of a segment is none of "overlapped", "waiting", "held" and "gate", and no object)");
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

// Not the name of an operator, which means all its calls.
bool IsCall(std::string_view name) { return name.find_first_of("#:") != std::string_view::npos; }

// One entry of "keep".
bool Keep(std::string_view name, Segment& segment) {
  if (!IsCall(name)) {
    segment.keep.emplace_back(name);
    return true;
  }
  std::optional<KeptCall> kept = ParseKeptCall(name);
  if (kept) segment.keep_calls.push_back(std::move(*kept));
  return kept.has_value();
}

std::string NoCall(std::string_view name) {
  return absl::StrFormat(R"('%s' is no call: a call is "module:aten.addmm.default#0", the module may be missing)",
                         name);
}

// An object of calls with the outputs of each that are kept, none for all.
absl::StatusOr<std::vector<KeptCall>> ReadCalls(const Json& calls, const std::string& path, Segment& segment) {
  std::vector<KeptCall> found;
  for (const auto& [name, outputs] : calls.items()) {
    std::optional<KeptCall> call;
    if (IsCall(name)) {
      call = ParseKeptCall(name);
      if (!call) return BadPlan(path, NoCall(name));
    } else {
      segment.keep.push_back(name);
    }
    if (!outputs.is_array()) return BadPlan(path, "the outputs of a kept call are not a list");
    for (const Json& output : outputs) {
      if (!output.is_number_unsigned() || output > std::numeric_limits<int8_t>::max() || !call)
        return BadPlan(path, absl::StrFormat("'%s' has no output %s", name, output.dump()));
      call->outputs.push_back(output.get<int8_t>());
    }
    if (call) found.push_back(*std::move(call));
  }
  return found;
}

// "keep": a list of names, or an object of operators and calls.
absl::Status ReadKeep(const Json& item, const std::string& path, Segment& segment) {
  const auto keep = item.find("keep");
  if (keep == item.end() || !keep->is_object()) {
    ASSIGN_OR_RETURN(const std::vector<std::string> names, Names(item, "keep", path));
    for (const std::string& name : names) {
      if (!Keep(name, segment)) return BadPlan(path, NoCall(name));
    }
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(segment.keep_calls, ReadCalls(*keep, path, segment));
  return absl::OkStatus();
}

// "offload": of all that a module saves a word; of single tensors of a segment that runs again an object.
absl::Status ReadOffload(const Json& item, const std::string& path, Segment& segment) {
  const auto offload = item.find("offload");
  if (offload == item.end() || !offload->is_object()) {
    ASSIGN_OR_RETURN(segment.offload, OffloadOf(item, path));
    return segment.offload == Offload::kNo || !segment.by_call()
               ? absl::OkStatus()
               : BadPlan(path, R"(a segment that keeps or skips calls has an object as "offload": {"calls": {...}})");
  }
  for (const auto& [key, value] : offload->items()) {
    if (key == "calls" && value.is_object()) {
      Segment names;
      ASSIGN_OR_RETURN(segment.host_calls, ReadCalls(value, path, names));
      if (!names.keep.empty()) return BadPlan(path, NoCall(names.keep.front()));
    } else if (key == "inputs" && value.is_boolean()) {
      segment.host_inputs = value.get<bool>();
    } else if (key == "when" && (value == NameOf(Offload::kOverlapped) || value == NameOf(Offload::kWaiting))) {
      segment.offload = value == NameOf(Offload::kWaiting) ? Offload::kWaiting : Offload::kOverlapped;
    } else {
      return BadPlan(path, absl::StrFormat(R"("offload" of a segment has "%s": %s; it may have "calls", an object of )"
                                           R"(calls, "inputs", true or false, and "when", "overlapped" or "waiting")",
                                           key, value.dump()));
    }
  }
  if (!segment.moves_some()) return BadPlan(path, R"("offload" of a segment names no "calls" and no "inputs")");
  if (segment.offload == Offload::kNo) segment.offload = Offload::kOverlapped;
  return absl::OkStatus();
}

absl::Status ReadSkip(const Json& item, const std::string& path, Segment& segment) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, Names(item, "skip", path));
  for (const std::string& name : names) {
    std::optional<CallId> call = ParseCallId(name);
    if (!call) return BadPlan(path, NoCall(name));
    segment.skip.push_back(std::move(*call));
  }
  return absl::OkStatus();
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
    RETURN_IF_ERROR(ReadKeep(item, path, segment));
    RETURN_IF_ERROR(ReadSkip(item, path, segment));
    RETURN_IF_ERROR(ReadOffload(item, path, segment));
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

Diagnostic NoSegmentsNote() {
  return {.code = Code::kNoSegments,
          .severity = Severity::kWarning,
          .message = "the plan of --plan has no segments: the step is as it is without one"};
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
