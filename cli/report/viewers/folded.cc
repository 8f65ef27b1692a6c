// Report -> folded stacks, for flame graphs (flamegraph.pl, inferno, speedscope): the bytes alive at the peak by
// module, with the category as the innermost frame.
// Format: https://www.brendangregg.com/FlameGraphs/cpuflamegraphs.html
//
//   layer1;0;conv1;saved activations 205520896
#include <map>

#include "absl/strings/str_format.h"
#include "analyzer/memory/timeline.h"
#include "cli/report/page/page.h"
#include "cli/report/parts/figures.h"
#include "cli/report/parts/formats.h"
#include "cli/report/parts/modules.h"
#include "cli/report/viewers/drawn_runs.h"

namespace onnx_mem {
namespace {

// A module's path as frames. What separates frames or ends lines cannot stand in one.
std::string FramesOf(std::string_view module) {
  if (module.empty()) return std::string(kNoModule);
  const char separator = module.front() == '/' ? '/' : '.';
  std::string frames;
  for (char byte : CleanText(module)) {
    if (byte == separator) {
      if (!frames.empty()) frames += ';';
    } else {
      frames += byte == ';' || byte == '\n' ? '_' : byte;
    }
  }
  return frames;
}

}  // namespace

std::string RenderFolded(const Report& report, const Screen&) {
  const std::vector<ViewedRun> runs = ViewedRuns(report);
  if (runs.empty()) return "";
  const RunFigures& figures = *runs.front().figures;
  const Modules modules(runs.front().analysis->parameters);
  std::map<std::string, int64_t> bytes_of;
  for (BufferId id : LiveAt(figures.program, figures.timeline.peak_step)) {
    const Buffer& buffer = figures.program.buffers[id];
    const std::string frames = FramesOf(modules.LayerOf(figures.program, buffer));
    bytes_of[absl::StrFormat("%s;%s", frames, Words(NameOf(buffer.category)))] += buffer.bytes;
  }
  std::string text;
  for (const auto& [stack, bytes] : bytes_of) {
    if (bytes > 0) absl::StrAppendFormat(&text, "%s %d\n", stack, bytes);
  }
  return text;
}

}  // namespace onnx_mem
