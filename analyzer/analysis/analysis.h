// The values at both ends of the line: a workload, and the analysis that answers it. study.h works it out.
#ifndef ONNX_MEM_ANALYZER_ANALYSIS_ANALYSIS_H_
#define ONNX_MEM_ANALYZER_ANALYSIS_ANALYSIS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/analysis/enact.h"
#include "analyzer/analysis/peak_bounds.h"
#include "analyzer/devices/overhead.h"
#include "analyzer/eager/optimizer/optimizer.h"
#include "analyzer/memory/program.h"
#include "analyzer/memory/timeline.h"
#include "analyzer/onnx/build/import.h"
#include "analyzer/run/run.h"

namespace onnx_mem {

enum class Mode { kBoth, kTraining, kInference };

enum class Device { kGpu, kCpu };

struct Workload {
  Bindings bindings;
  Mode mode = Mode::kBoth;
  Run run;  // `training` is set by Study
  Optimizer optimizer;
  std::string allocator = "pytorch";  // a row of analyzer/allocators
  Device device = Device::kGpu;       // the CPU: of sessions alone
  Platform platform;                  // the card and the version of PyTorch; platform.torch_of_file is set by Study
  int64_t sessions = 1;               // of onnxruntime in one process, each with its weights and its arena
  friend bool operator==(const Workload&, const Workload&) = default;
};

// One onnxruntime session. Bytes.
struct SessionFigures {
  int64_t weight_bytes = 0;   // as it keeps them, packed or in the file's layout
  int64_t arena_bytes = 0;    // regions that its arena took: what its log of extensions adds up to
  int64_t touched_bytes = 0;  // of them, pages that were ever written: what is resident on the CPU
  int64_t pattern_bytes = 0;  // of runs 2 and later: the one block with all activations at planned offsets; 0: none
};

// Figures of one run (training or inference) of one workload. Bytes.
// What a training step or an inference takes, in bytes.
struct PeakFigures {
  int64_t peak_bytes = 0;             // exact sizes, each storage once
  int64_t first_step_peak_bytes = 0;  // training only: step 1, in which optimizer state first appears
  int64_t allocated_peak_bytes = 0;   // with the allocator's rounding and with workspaces
  // Between which it lies: what the file leaves open (peak_low_bytes), and what libraries may take as workspaces.
  int64_t allocated_low_bytes = 0;
  int64_t allocated_high_bytes = 0;
  int64_t reserved_peak_bytes = 0;
  int64_t device_bytes = 0;  // with the CUDA context: what nvidia-smi shows
  int64_t device_low_bytes = 0;
  int64_t device_high_bytes = 0;
  int64_t workspace_bytes = 0;    // of cuBLAS, within the allocated bytes
  int64_t workspace_blocks = 0;   // of equal size that these are
  int64_t context_bytes = 0;      // of CUDA, within the device bytes
  int64_t context_low_bytes = 0;  // between which that lies
  int64_t context_high_bytes = 0;
  // Between which the peak lies, whatever the file does not say (peak_bounds.h); 0 where nobody asked for it.
  int64_t peak_low_bytes = 0;
  int64_t peak_high_bytes = 0;
  int64_t ideal_peak_bytes = 0;                // inference only: a runtime that plans ahead, no Python frames
  std::optional<SessionFigures> session = {};  // of one, where sessions run
  std::optional<int64_t> ideal_arena_bytes;    // inference only: its activations in one arena with planned offsets
  bool at_least = false;                       // something could not be known: the figures are lower bounds
};

struct RunFigures : PeakFigures {
  MemoryProgram program;  // training: the steady step (2 and later)
  Timeline timeline;
  std::vector<int64_t> addresses;  // AllocatorUsage::addresses, by buffer: with Study::AddAddresses
};

struct Analysis {
  ModelInfo info;
  std::vector<Parameter> parameters;
  int64_t parameter_count = 0;
  int64_t parameter_bytes = 0;
  int64_t buffer_bytes = 0;
  int64_t batch = 1;
  std::shared_ptr<const RunFigures> training;   // null: not analyzed
  std::shared_ptr<const RunFigures> inference;  // the same
  int64_t end_of_forward_bytes = 0;
  int64_t saved_activation_bytes = 0;
  int64_t forward_flops = 0;
  int64_t backward_flops = 0;
  int64_t recompute_flops = 0;
  bool batch_statistics = false;  // some layer normalizes over the batch
  std::shared_ptr<const Graph> graph =
      std::make_shared<const Graph>();  // as imported: the file's tensors with their shapes
  std::vector<Diagnostic> diagnostics;
  std::vector<Diagnostic> plain_rewrites;                        // of lower.h: for a check of the file
  std::vector<std::pair<std::string, std::string>> assumptions;  // ("optimizer", "adam"), ("loss", "cross-entropy")
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ANALYSIS_ANALYSIS_H_
