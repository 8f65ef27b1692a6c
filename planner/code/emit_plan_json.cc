#include <nlohmann/json.hpp>
#include <string>

#include "analyzer/parallel/rank_note.h"
#include "planner/code/emit_pytorch.h"

namespace onnx_mem {
namespace {

nlohmann::ordered_json CallsOf(const std::vector<KeptCall>& calls) {
  nlohmann::ordered_json by_name = nlohmann::ordered_json::object();
  for (const KeptCall& kept : calls) by_name[TextOf(kept.call)] = kept.outputs;
  return by_name;
}

// As --plan reads it (cli/files/plan_file.h).
void AddKeep(const Segment& segment, nlohmann::ordered_json& entry) {
  if (!segment.by_call()) {
    if (!segment.keep.empty()) entry["keep"] = segment.keep;
    return;
  }
  entry["keep"] = nlohmann::ordered_json::object();
  for (const std::string& name : segment.keep) entry["keep"][name] = nlohmann::ordered_json::array();
  entry["keep"].update(CallsOf(segment.keep_calls));
  entry["skip"] = nlohmann::ordered_json::array();
  for (const CallId& call : segment.skip) entry["skip"].push_back(TextOf(call));
}

void AddOffload(const Segment& segment, nlohmann::ordered_json& entry) {
  if (segment.moves_all()) entry["offload"] = NameOf(segment.offload);
  if (!segment.moves_some()) return;
  entry["offload"]["when"] = NameOf(segment.offload);
  entry["offload"]["inputs"] = segment.host_inputs;
  entry["offload"]["calls"] = CallsOf(segment.host_calls);
}

}  // namespace

std::string EmitPlanJson(const ModelInfo& info, const ModulePlan& plan, const std::optional<SpreadPlan>& spread) {
  nlohmann::ordered_json document;
  document["model"] = info.path.substr(info.path.rfind('/') + 1);
  document["label"] = plan.label;
  if (spread) document["layout"] = TextOf(spread->layout);
  document["peak_bytes"] = plan.measured.peak_bytes;
  document["device_bytes"] = plan.measured.device_bytes;
  document["recompute_flops"] = plan.measured.recompute_flops;
  document["settings"] = plan.settings;  // an object, empty too
  document["segments"] = nlohmann::ordered_json::array();
  for (const PlannedSegment& segment : plan.segments) {
    nlohmann::ordered_json entry;
    if (!segment.segment.modules.empty()) entry["modules"] = segment.segment.modules;
    if (!segment.segment.nodes.empty()) entry["nodes"] = segment.segment.nodes;
    AddKeep(segment.segment, entry);
    AddOffload(segment.segment, entry);
    document["segments"].push_back(std::move(entry));
  }
  return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace onnx_mem
