// Report -> the Trace Event Format, which Perfetto (ui.perfetto.dev) and chrome://tracing open: a process per run, in
// it the operators of each phase on a track of their own, and the bytes alive as a counter stacked by category. A step
// takes one microsecond: the order is known, not the time.
#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

#include "analyzer/memory/timeline.h"
#include "report/page/page.h"
#include "report/parts/figures.h"
#include "report/parts/formats.h"
#include "report/parts/json_writer.h"
#include "report/viewers/drawn_runs.h"

namespace onnx_mem {
namespace {

using Layout = JsonWriter::Layout;

void BeginEvent(JsonWriter& json, std::string_view name, std::string_view kind, int64_t process, int64_t at) {
  json.BeginObject(Layout::kOneLine);
  json.Key("name").String(CleanText(name)).Key("ph").String(kind).Key("pid").Int(process).Key("ts").Int(at);
}

void NameTrack(JsonWriter& json, std::string_view what, int64_t process, int64_t track, std::string_view name) {
  BeginEvent(json, what, "M", process, 0);
  json.Key("tid").Int(track).Key("args").BeginObject().Key("name").String(name).EndObject().EndObject();
}

// What there is before the first step is nothing that it allocates.
bool IsAllocated(Category category) {
  constexpr Category kOthers[] = {Category::kParameters, Category::kBuffers, Category::kInputs,
                                  Category::kOptimizerState, Category::kWorkspace};
  return std::find(std::begin(kOthers), std::end(kOthers), category) == std::end(kOthers);
}

std::vector<int64_t> AllocatedPerStep(const MemoryProgram& program) {
  std::vector<int64_t> bytes(program.steps.size(), 0);
  for (const Buffer& buffer : program.buffers) {
    if (IsAllocated(buffer.category)) bytes[buffer.begin.index()] += buffer.bytes;
  }
  return bytes;
}

void WriteRun(JsonWriter& json, const ViewedRun& run, int64_t process) {
  const MemoryProgram& program = *run.figures->program;
  NameTrack(json, "process_name", process, 0, run.name);
  for (Phase phase : {Phase::kForward, Phase::kLoss, Phase::kBackward, Phase::kOptimizer}) {
    NameTrack(json, "thread_name", process, static_cast<int64_t>(phase) + 1, NameOf(phase));
  }
  const std::vector<BytesByCategory> bytes = BytesPerStep(program);
  const std::vector<int64_t> allocated = AllocatedPerStep(program);
  for (size_t i = 0; i < bytes.size(); ++i) {
    const Step& step = program.steps[StepId(static_cast<int32_t>(i))];
    const auto at = static_cast<int64_t>(i);
    BeginEvent(json, step.op, "X", process, at);
    json.Key("dur").Int(1).Key("tid").Int(static_cast<int64_t>(step.phase) + 1);
    json.Key("args").BeginObject();
    json.Key("module").String(CleanText(step.module)).Key("node").String(CleanText(step.node));
    json.Key("recompute").Bool(step.recompute).Key("allocated").Int(allocated[i]).EndObject().EndObject();
    BeginEvent(json, "bytes alive", "C", process, at);
    json.Key("args").BeginObject();
    for (size_t c = 0; c < kNumCategories; ++c) {
      if (c == static_cast<size_t>(Category::kWorkspace)) continue;  // which exact sizes do not count
      json.Key(Words(NameOf(static_cast<Category>(c)))).Int(bytes[i][c]);
    }
    json.EndObject().EndObject();
  }
}

}  // namespace

std::string RenderTrace(const Report& report, const Screen&) {
  JsonWriter json;
  json.BeginObject();
  json.Key("traceEvents").BeginArray();
  int64_t process = 0;
  for (const ViewedRun& run : ViewedRuns(report)) WriteRun(json, run, ++process);
  json.EndArray();
  json.EndObject();
  return json.Take() + "\n";
}

}  // namespace onnx_mem
