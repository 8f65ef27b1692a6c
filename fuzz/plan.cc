// A plan (--plan), and a training step that runs it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "analyzer/onnx/build/import.h"
#include "analyzer/study/study.h"
#include "cli/files/plan_file.h"

namespace {

const onnx_mem::ModelFile& Planned() {
  static const auto& file = *new absl::StatusOr<onnx_mem::ModelFile>(
      onnx_mem::ModelFile::Open(ONNX_MEM_SOURCE_DIR "/testdata/models/lenet5.train.ts.op17.onnx"));
  if (!file.ok()) std::abort();
  return *file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto given = onnx_mem::ParsePlan(text, "plan.json");
  if (!given.ok()) return 0;
  onnx_mem::Workload workload;
  workload.mode = onnx_mem::Mode::kTraining;
  workload.run.segments = std::move(given->segments);
  if (given->allocator) workload.allocator = *given->allocator;
  (void)onnx_mem::Study(Planned()).Expected(workload);
  return 0;
}
