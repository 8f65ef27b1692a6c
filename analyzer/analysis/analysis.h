// The values at both ends of the line: a workload, and the analysis that answers it. study.h works it out.
#ifndef ONNX_MEM_ANALYZER_ANALYSIS_ANALYSIS_H_
#define ONNX_MEM_ANALYZER_ANALYSIS_ANALYSIS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/analysis/enact.h"
#include "analyzer/analysis/figure_rows.h"
#include "analyzer/analysis/peak_bounds.h"
#include "analyzer/devices/overhead.h"
#include "analyzer/eager/optimizer/optimizer.h"
#include "analyzer/memory/program.h"
#include "analyzer/memory/timeline.h"
#include "analyzer/onnx/build/import.h"
#include "analyzer/run/layout.h"
#include "analyzer/run/run.h"

namespace onnx_mem {

enum class Mode { kBoth, kTraining, kInference };

enum class Device { kGpu, kCpu };

struct Workload {
  Bindings bindings;
  std::map<std::string, int64_t> shortest;  // of sizes that vary from step to step; `bindings` have the longest
  bool varied = false;                      // sizes vary from step to step, and no more is known than the longest
  Mode mode = Mode::kBoth;
  Run run;            // `training` is set by Study
  RankLayout layout;  // of a training step
  Optimizer optimizer;
  std::string allocator = "pytorch";  // a row of analyzer/allocators
  Device device = Device::kGpu;       // the CPU: of sessions alone
  Platform platform;                  // the card and the version of PyTorch; platform.torch_of_file is set by Study
  int64_t sessions = 1;               // of onnxruntime in one process, each with its weights and its arena
  friend bool operator==(const Workload&, const Workload&) = default;
};

// Figures of one run (training or inference) of one workload.
struct RunFigures : PeakFigures {
  // Training: the steady step (2 and later). Shared by the copies of these figures, as it is the largest of them.
  std::shared_ptr<const MemoryProgram> program = std::make_shared<const MemoryProgram>();
  Timeline timeline;
  std::vector<int64_t> addresses;  // AllocatorUsage::addresses, by buffer: with Study::AddAddresses
};

// One run of a model in an analysis of it, by the name that reports give it. What else a model may run as (a prefill
// and a decode, ranks, stages) is a part of its own name.
struct Part {
  std::string_view name;
  std::shared_ptr<const RunFigures> figures;
};
inline constexpr std::string_view kTrainingPart = "training";
inline constexpr std::string_view kInferencePart = "inference";

struct Analysis;

// One rank of a step over several cards; null: the rank of the analysis that it stands in.
struct RankAnalysis {
  int64_t rank = 0;
  std::string name;  // "rank 7 of 8"
  std::shared_ptr<const Analysis> analysis;
};

// Its PassFigures are those of training; of inference alone it has the FLOPs.
struct Analysis : PassFigures {
  ModelInfo info;
  std::vector<Parameter> parameters;
  int64_t parameter_count = 0;
  int64_t parameter_bytes = 0;
  int64_t buffer_bytes = 0;
  int64_t batch = 1;
  std::string rank;                 // whose figures a training step over several cards has; "": one card's
  std::vector<RankAnalysis> ranks;  // of such a step, the one that it is of first: with Study::AddRanks
  std::vector<Part> parts;          // in the order of every form; the first one answers
  bool batch_statistics = false;    // some layer normalizes over the batch
  std::shared_ptr<const Graph> graph =
      std::make_shared<const Graph>();  // as imported: the file's tensors with their shapes
  std::vector<Diagnostic> diagnostics;
  std::vector<Diagnostic> plain_rewrites;                        // of lower.h: for a check of the file
  std::vector<std::pair<std::string, std::string>> assumptions;  // ("optimizer", "adam"), ("loss", "cross-entropy")

  // nullptr: it has none of that name.
  const RunFigures* Find(std::string_view name) const {
    for (const Part& part : parts) {
      if (part.name == name) return part.figures.get();
    }
    return nullptr;
  }
  const RunFigures* training() const { return Find(kTrainingPart); }
  const RunFigures* inference() const { return Find(kInferencePart); }
};

// The run that answers: training where there is one; nullptr without any.
inline const RunFigures* MainFigures(const Analysis& analysis) {
  return analysis.parts.empty() ? nullptr : analysis.parts.front().figures.get();
}

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ANALYSIS_ANALYSIS_H_
