// Report -> folded stacks, for flame graphs (flamegraph.pl, inferno): the bytes alive at the peak.
// Format: https://www.brendangregg.com/FlameGraphs/cpuflamegraphs.html
//
//   layer1;0;conv1;saved activations 205520896
#include <algorithm>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "report/parts/formats.h"
#include "report/viewers/peak_stacks.h"

namespace onnx_mem {
namespace {

// What separates frames or ends lines cannot stand in one.
std::string FoldedFrame(std::string frame) {
  std::replace_if(frame.begin(), frame.end(), [](char byte) { return byte == ';' || byte == '\n'; }, '_');
  return frame;
}

}  // namespace

std::string RenderFolded(const Report& report, const Screen&) {
  const std::vector<ViewedRun> runs = ViewedRuns(report);
  if (runs.empty()) return "";
  std::vector<std::string> lines;
  for (const auto& [frames, bytes] : PeakStacksOf(runs.front())) {
    const std::string stack = absl::StrJoin(
        frames, ";", [](std::string* text, const std::string& frame) { text->append(FoldedFrame(frame)); });
    lines.push_back(absl::StrFormat("%s %d\n", stack, bytes));
  }
  std::sort(lines.begin(), lines.end());
  return absl::StrJoin(lines, "");
}

}  // namespace onnx_mem
