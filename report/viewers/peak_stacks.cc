#include "report/viewers/peak_stacks.h"

#include <string_view>

#include "analyzer/memory/timeline.h"
#include "report/page/page.h"
#include "report/parts/figures.h"
#include "report/parts/modules.h"

namespace onnx_mem {
namespace {

std::vector<std::string> FramesOf(std::string_view module) {
  if (module.empty()) return {std::string(kNoModule)};
  const char separator = module.front() == '/' ? '/' : '.';
  std::vector<std::string> frames;
  std::string frame;
  for (char byte : CleanText(module) + separator) {
    if (byte != separator) {
      frame += byte;
    } else if (!frame.empty()) {
      frames.push_back(std::move(frame));
      frame.clear();
    }
  }
  return frames;
}

}  // namespace

PeakStacks PeakStacksOf(const ViewedRun& run) {
  const RunFigures& figures = *run.figures;
  const Modules modules(run.analysis->parameters);
  PeakStacks stacks;
  for (BufferId id : LiveAt(*figures.program, figures.timeline.peak_step)) {
    const Buffer& buffer = figures.program->buffers[id];
    if (buffer.bytes == 0) continue;
    std::vector<std::string> frames = FramesOf(modules.LayerOf(*figures.program, buffer));
    frames.push_back(Words(NameOf(buffer.category)));
    stacks[std::move(frames)] += buffer.bytes;
  }
  return stacks;
}

}  // namespace onnx_mem
