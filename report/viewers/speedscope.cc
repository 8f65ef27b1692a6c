// Report -> speedscope's file format (speedscope.app/file-format-schema.json): a profile per run, in which a sample is
// what one module holds of one category at the peak, weighed in bytes.
#include <map>
#include <string>
#include <vector>

#include "report/parts/formats.h"
#include "report/parts/json_writer.h"
#include "report/viewers/peak_stacks.h"

namespace onnx_mem {
namespace {

using Layout = JsonWriter::Layout;

// Frames of all profiles, each name once.
class FrameTable {
 public:
  int64_t Number(const std::string& name) {
    const auto [entry, is_new] = numbers_.try_emplace(name, static_cast<int64_t>(names_.size()));
    if (is_new) names_.push_back(name);
    return entry->second;
  }
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::map<std::string, int64_t> numbers_;
  std::vector<std::string> names_;
};

void WriteProfile(JsonWriter& json, const ViewedRun& run, const PeakStacks& stacks, FrameTable& table) {
  int64_t sum = 0;
  json.BeginObject();
  json.Key("type").String("sampled").Key("name").String(run.name).Key("unit").String("bytes").Key("startValue").Int(0);
  json.Key("samples").BeginArray();
  for (const auto& [frames, bytes] : stacks) {
    json.BeginArray(Layout::kOneLine);
    for (const std::string& frame : frames) json.Int(table.Number(frame));
    json.EndArray();
    sum += bytes;
  }
  json.EndArray().Key("weights").BeginArray(Layout::kOneLine);
  for (const auto& [frames, bytes] : stacks) json.Int(bytes);
  json.EndArray().Key("endValue").Int(sum).EndObject();
}

}  // namespace

std::string RenderSpeedscope(const Report& report, const Screen&) {
  FrameTable table;
  JsonWriter json;
  json.BeginObject();
  json.Key("$schema").String("https://www.speedscope.app/file-format-schema.json");
  json.Key("exporter").String("onnx-mem").Key("activeProfileIndex").Int(0);
  json.Key("profiles").BeginArray();
  for (const ViewedRun& run : ViewedRuns(report)) WriteProfile(json, run, PeakStacksOf(run), table);
  json.EndArray();
  json.Key("shared").BeginObject().Key("frames").BeginArray();
  for (const std::string& name : table.names()) {
    json.BeginObject(Layout::kOneLine).Key("name").String(name).EndObject();
  }
  json.EndArray().EndObject().EndObject();
  return json.Take() + "\n";
}

}  // namespace onnx_mem
