#include "analyzer/runtimes/library_workspace.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "analyzer/allocators/cuda_allocator.h"
#include "analyzer/eager/engine/workspace.h"

namespace onnx_mem {
namespace {

using Convolutions = LibraryCase::Convolutions;

// Where no card is named: the common size, and the largest.
const CardKind kAnyCard = {"NVIDIA", "", 0};
const CardKind kWidestCard = {"NVIDIA", "Hopper", 9};

// A bias is added by cuBLASLt, in a workspace of its own beside what the handle keeps (CUDABlas.cpp, gemm_and_bias).
LibraryCase CaseOf(const CublasWorkspace& workspace) {
  LibraryCase one;
  one.kernels = true;
  (workspace.resident ? one.kept_bytes : one.product_bytes) = workspace.bytes;
  one.biased_bytes = workspace.resident ? workspace.lt_bytes : workspace.bytes;
  return one;
}

// cuBLASLt runs where the shapes and the card allow it (Blas.cpp, addmm_out_cuda_impl).
LibraryCase LowCaseOf(TorchVersion torch, const CardKind& card) {
  const CublasWorkspace workspace = CublasWorkspaceOf(torch, card);
  LibraryCase one = CaseOf(workspace);
  if (workspace.resident) one.biased_bytes = 0;
  if (one.biased_bytes > 0 && workspace.lt_bytes > 0) one.biased_bytes = std::min(one.biased_bytes, workspace.lt_bytes);
  return one;
}

// Some versions keep cuBLASLt's workspace with the handle's.
LibraryCase HighCaseOf(TorchVersion torch, const CardKind& card) {
  const CublasWorkspace workspace = CublasWorkspaceOf(torch, card);
  LibraryCase one = CaseOf(workspace);
  if (!workspace.resident) return one;
  one.kept_bytes += workspace.lt_bytes;
  one.biased_bytes = 0;
  return one;
}

// The last version in which handles keep a workspace.
constexpr TorchVersion kLastResident = {2, 14};

// A workspace and what it is called.
struct Requested {
  int64_t bytes;
  StepId begin, end;
  bool kept;
  std::string_view name;
};

// In the order in which they are requested.
std::vector<Requested> WorkspacesOf(const MemoryProgram& program, const LibraryCase& of, bool first) {
  std::vector<Requested> requested;
  std::array<bool, 2> seen = {};  // by handle: forward's, backward's
  for (StepId step(0); program.steps.contains(step); step = StepId(step.value() + 1)) {
    const Step& run = program.steps[step];
    const StepId next(step.value() + 1);
    if (const Product product = ProductOf(run); product != Product::kNone) {
      const bool backward = run.phase == Phase::kBackward;
      if (of.kept_bytes > 0 && !std::exchange(seen[backward], true)) {
        requested.push_back({of.kept_bytes, first ? step : StepId(0), program.steps.next_id(), true,
                             backward ? "cuBLAS workspace of backward" : "cuBLAS workspace"});
      }
      const int64_t bytes = product == Product::kBiased ? of.biased_bytes : of.product_bytes;
      if (bytes > 0) requested.push_back({bytes, step, next, false, "cuBLAS workspace"});
    }
    const int64_t bytes = of.convolutions == Convolutions::kNone     ? 0
                          : of.convolutions == Convolutions::kChosen ? run.chosen_workspace_bytes
                                                                     : run.tried_workspace_bytes;
    if (bytes > 0) requested.push_back({bytes, step, next, false, "cuDNN workspace"});
    if (!of.kernels) continue;
    for (const int64_t taken : run.kernel_takes) requested.push_back({taken, step, next, false, "kernel's own"});
  }
  return requested;
}

int64_t HandedOutOf(int64_t bytes) { return bytes > 0 ? RoundForCuda(bytes, {}) : 0; }

}  // namespace

bool ComesWithTheModel(const Buffer& buffer) {
  return buffer.category == Category::kParameters || buffer.category == Category::kBuffers;
}

bool ServesLibraries(std::string_view allocator) { return allocator.starts_with("pytorch"); }

LibraryCases LibraryCasesOf(std::string_view allocator, const Platform& platform) {
  LibraryCases cases;
  if (!ServesLibraries(allocator)) return cases;
  const TorchVersion torch = platform.Torch();
  const CardKind card = platform.card.value_or(kAnyCard);
  cases.expected = CaseOf(CublasWorkspaceOf(torch, card));
  cases.low = LowCaseOf(platform.torch.value_or(std::max(torch, kNewestTorch)), card);
  cases.high = HighCaseOf(platform.torch.value_or(std::min(torch, kLastResident)), platform.card.value_or(kWidestCard));
  cases.high.convolutions = platform.cudnn_benchmark ? Convolutions::kTried : Convolutions::kChosen;
  return cases;
}

int64_t CublasBlocks(const MemoryProgram& program, const LibraryCase& of) {
  const int64_t handles = MatmulHandles(program);
  if (of.kept_bytes > 0) return handles;
  return of.product_bytes > 0 ? std::min<int64_t>(handles, 1) : 0;
}

ReplayScript ScriptWithLibraries(const MemoryProgram& program, const LibraryCase& of, bool first) {
  ReplayScript script(program);
  for (const Requested& requested : WorkspacesOf(program, of, first)) {
    if (requested.kept) {
      script.AddKept(requested.bytes, requested.begin, requested.name);
    } else {
      script.Add(requested.bytes, requested.begin, requested.end);
    }
  }
  return script;
}

MemoryProgram WithLibraryWorkspaces(MemoryProgram program, const LibraryCase& of) {
  for (const Requested& requested : WorkspacesOf(program, of, /*first=*/false)) {
    Buffer workspace;
    workspace.name = SharedText(requested.name);
    workspace.category = requested.kept ? Category::kBuffers : Category::kWorkspace;
    workspace.bytes = requested.bytes;
    workspace.begin = requested.begin;
    workspace.end = requested.end;
    workspace.dtype = DType::kUInt8;
    if (!requested.kept) workspace.module = program.steps[requested.begin].module;
    program.buffers.Add(std::move(workspace));
  }
  return program;
}

int64_t PeakOfBlocks(const MemoryProgram& program, const LibraryCase& of, bool first, int64_t uncut_bytes) {
  std::vector<int64_t> change(program.steps.size() + 1, 0);
  const auto add = [&](int64_t bytes, int64_t uncut, StepId begin, StepId end) {
    const int64_t block = HandedOutOf(bytes), whole = block > kCudaSmallBytes ? block + uncut : block;
    change[begin.index()] += whole;
    change[end.index()] -= whole;
  };
  for (const Buffer& buffer : program.buffers) {
    add(buffer.bytes, ComesWithTheModel(buffer) ? 0 : uncut_bytes, buffer.begin, buffer.end);
  }
  for (const Requested& requested : WorkspacesOf(program, of, first)) {
    add(requested.bytes, uncut_bytes, requested.begin, requested.end);
  }
  int64_t peak = 0, live = 0;
  for (int64_t bytes : change) peak = std::max(peak, live += bytes);
  return peak;
}

}  // namespace onnx_mem
