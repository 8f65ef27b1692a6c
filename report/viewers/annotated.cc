// Report -> the model itself, without its weights, in which each node tells its bytes: for Netron and other viewers of
// ONNX. Of the run that answers; metadata as onnx_mem.* in bytes, the doc string in words.
//
//   Conv: "makes 196 MiB, of which backward needs 196 MiB; 1.21 GiB are alive when it runs"
#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analyzer/graph/bytes.h"
#include "analyzer/memory/timeline.h"
#include "analyzer/onnx/build/import.h"
#include "report/parts/formats.h"
#include "report/parts/modules.h"
#include "report/viewers/drawn_runs.h"

namespace onnx_mem {
namespace {

struct NodeBytes {
  int64_t output = 0;  // that its forward made
  int64_t saved = 0;   // of them, what backward needs
  int64_t live = 0;    // most that is alive in one of its steps
  bool at_peak = false;
  std::string module;
};

std::map<std::string, NodeBytes> BytesOfNodes(const RunFigures& figures) {
  const MemoryProgram& program = *figures.program;
  std::map<std::string, NodeBytes> nodes;
  for (StepId id(0); program.steps.contains(id); id = StepId(id.value() + 1)) {
    const Step& step = program.steps[id];
    if (step.node.empty()) continue;
    NodeBytes& node = nodes[step.node.str()];
    node.live = std::max(node.live, figures.timeline.live_bytes[id.index()]);
    node.at_peak = node.at_peak || id == figures.timeline.peak_step;
    if (node.module.empty()) node.module = step.module.str();
  }
  for (const Buffer& buffer : program.buffers) {
    if (!MadeByAStep(buffer) || !program.steps.contains(buffer.begin)) continue;
    const Step& step = program.steps[buffer.begin];
    if (step.node.empty() || step.phase != Phase::kForward || step.recompute) continue;
    NodeBytes& node = nodes[step.node.str()];
    node.output += buffer.bytes;
    if (buffer.category == Category::kSavedActivations) node.saved += buffer.bytes;
  }
  return nodes;
}

NodeNote NoteOf(const NodeBytes& node) {
  std::string text = absl::StrFormat("makes %s", FormatBytes(node.output));
  if (node.saved > 0) absl::StrAppendFormat(&text, ", of which backward needs %s", FormatBytes(node.saved));
  absl::StrAppendFormat(&text, "; %s are alive when it runs%s", FormatBytes(node.live),
                        node.at_peak ? ", which is the peak" : "");
  NodeNote note{.text = std::move(text)};
  note.metadata = {{"onnx_mem.output_bytes", absl::StrCat(node.output)},
                   {"onnx_mem.saved_bytes", absl::StrCat(node.saved)},
                   {"onnx_mem.live_bytes", absl::StrCat(node.live)},
                   {"onnx_mem.module", node.module}};
  return note;
}

}  // namespace

std::string RenderAnnotated(const Report& report, const Screen&) {
  const std::vector<ViewedRun> runs = ViewedRuns(report);
  if (runs.empty() || report.file == nullptr) return "";
  std::map<std::string, NodeNote> notes;
  for (const auto& [name, node] : BytesOfNodes(*runs.front().figures)) notes[name] = NoteOf(node);
  return report.file->Annotated(notes);
}

}  // namespace onnx_mem
