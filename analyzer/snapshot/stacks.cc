// Names of frames: those of public snapshots of PyTorch 2.1 to 2.7, and of the sources that they name.
#include "analyzer/snapshot/stacks.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "absl/strings/str_format.h"

namespace onnx_mem {
namespace {

// kFramework: PyTorch's Python and Python's own library.
enum class FrameKind : uint8_t { kCpp, kFramework, kLibrary, kUser };

// What a frame is a mark of. A row matches where both texts occur; "" occurs everywhere.
enum class FrameMark : uint8_t {
  kNone,
  kWorkspace,
  kBackward,
  kOptimizer,
  kState,
  kConstructor,
  kModuleCall,
  kData,
  kCopy,
};
struct MarkRow {
  std::string_view file;
  std::string_view name;
  FrameMark mark;
};
constexpr auto kMarks = std::to_array<MarkRow>({
    {"", "getNewWorkspace", FrameMark::kWorkspace},
    {"", "getCurrentCUDABlasHandle", FrameMark::kWorkspace},
    {"", "getCUDABlasLtWorkspace", FrameMark::kWorkspace},
    {"", "at::cuda::cub::detail", FrameMark::kWorkspace},
    {"", "at::native::run_conv_plan", FrameMark::kWorkspace},
    {"", "at::native::run_single_conv", FrameMark::kWorkspace},
    {"", "torch::autograd::Engine::", FrameMark::kBackward},
    {"", "torch::autograd::AccumulateGrad::", FrameMark::kBackward},
    {"torch/optim/", "_init_group", FrameMark::kState},
    {"bitsandbytes/optim/", "init_state", FrameMark::kState},
    {"torch/optim/", "", FrameMark::kOptimizer},
    {"torch/amp/grad_scaler.py", "", FrameMark::kOptimizer},
    {"torch/nn/utils/clip_grad.py", "", FrameMark::kOptimizer},
    {"bitsandbytes/optim/", "", FrameMark::kOptimizer},
    {"apex/optimizers/", "", FrameMark::kOptimizer},
    {"torch/nn/modules/module.py", "_call_impl", FrameMark::kModuleCall},
    {"torch/nn/modules/module.py", "_apply", FrameMark::kConstructor},
    {"torch/nn/modules/module.py", "load_state_dict", FrameMark::kConstructor},
    {"torch/nn/modules/", "__init__", FrameMark::kConstructor},
    {"torch/nn/modules/", "reset_parameters", FrameMark::kConstructor},
    {"torch/nn/parameter.py", "__new__", FrameMark::kConstructor},
    {"torch/nn/init.py", "", FrameMark::kConstructor},
    {"", "set_module_tensor_to_device", FrameMark::kConstructor},
    {"", "from_pretrained", FrameMark::kConstructor},
    {"torch/utils/data/", "", FrameMark::kData},
    {"", "torch::autograd::THPVariable_to(", FrameMark::kData},
    {"", "torch::autograd::THPVariable_cuda(", FrameMark::kData},
    {"/copy.py", "deepcopy", FrameMark::kCopy},
});

// Folders whose Python runs in backward's thread: nobody of the user's calls it there.
constexpr auto kThreadRoots = std::to_array<std::string_view>(
    {"torch/autograd/", "torch/utils/checkpoint.py", "torch/_functorch/", "torch/_dynamo/", "torch/_inductor/"});

bool Has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

bool IsTorch(std::string_view file) {
  if (Has(file, "-packages/torch/")) return true;
  constexpr auto kInside = std::to_array<std::string_view>(
      {"/torch/nn/modules/", "/torch/optim/", "/torch/autograd/", "/torch/utils/", "/torch/nn/functional.py"});
  return std::any_of(kInside.begin(), kInside.end(), [&](std::string_view part) { return Has(file, part); });
}

FrameKind KindOf(const StackFrame& frame) {
  const bool notebook = frame.file.starts_with("<") && !frame.file.starts_with("<frozen");
  if (!frame.file.ends_with(".py") && !notebook) return FrameKind::kCpp;
  if (IsTorch(frame.file)) return FrameKind::kFramework;
  if (Has(frame.file, "-packages/")) return FrameKind::kLibrary;
  return Has(frame.file, "/lib/python3") ? FrameKind::kFramework : FrameKind::kUser;
}

FrameMark MarkOf(const StackFrame& frame) {
  for (const MarkRow& row : kMarks) {
    if (Has(frame.file, row.file) && Has(frame.name, row.name)) return row.mark;
  }
  return FrameMark::kNone;
}

struct FrameFacts {
  FrameKind kind = FrameKind::kCpp;
  FrameMark mark = FrameMark::kNone;
};

// The strongest mark says who made it: scratch memory of a backward is scratch memory.
MadeBy MadeByOf(const std::array<bool, 16>& has, bool any_python, bool in_thread) {
  const auto marked = [&](FrameMark mark) { return has[static_cast<size_t>(mark)]; };
  if (marked(FrameMark::kWorkspace)) return MadeBy::kWorkspace;
  if (marked(FrameMark::kBackward) || in_thread) return MadeBy::kBackward;
  if (marked(FrameMark::kOptimizer) || marked(FrameMark::kState)) return MadeBy::kOptimizer;
  if (marked(FrameMark::kModuleCall)) return MadeBy::kModules;
  if (marked(FrameMark::kConstructor)) return MadeBy::kConstructor;
  if (marked(FrameMark::kData)) return MadeBy::kData;
  return any_python ? MadeBy::kOwnCode : MadeBy::kNothingKnown;
}

StackFacts FactsOf(const std::vector<FrameId>& stack, const std::vector<FrameFacts>& frames,
                   const AllocatorSnapshot& snapshot) {
  StackFacts facts;
  std::array<bool, 16> has{};
  bool any_python = false, in_module = false, in_thread = false;
  for (size_t i = stack.size(); i > 0; --i) {  // outermost first
    const FrameFacts& frame = frames[stack[i - 1]];
    has[static_cast<size_t>(frame.mark)] = true;
    if (frame.mark == FrameMark::kModuleCall) in_module = true;
    if (frame.kind == FrameKind::kCpp) continue;
    if (!any_python) {
      const std::string_view file = snapshot.frames[stack[i - 1]].file;
      in_thread =
          std::any_of(kThreadRoots.begin(), kThreadRoots.end(), [&](std::string_view part) { return Has(file, part); });
    }
    any_python = true;
    if (frame.kind == FrameKind::kFramework) continue;
    facts.where = stack[i - 1];
    if (in_module) continue;
    facts.outside.push_back(stack[i - 1]);
    const bool better =
        facts.call == kNoFrame || frame.kind == FrameKind::kUser || frames[facts.call].kind == FrameKind::kLibrary;
    if (better) facts.call = stack[i - 1];
  }
  facts.made_by = MadeByOf(has, any_python, in_thread);
  facts.state = has[static_cast<size_t>(FrameMark::kState)];
  facts.copied = has[static_cast<size_t>(FrameMark::kCopy)];
  return facts;
}

}  // namespace

std::vector<StackFacts> FactsOfStacks(const AllocatorSnapshot& snapshot) {
  std::vector<FrameFacts> frames;
  bool any_cpp = false;
  for (const StackFrame& frame : snapshot.frames) {
    frames.push_back({KindOf(frame), MarkOf(frame)});
    any_cpp = any_cpp || Has(frame.name, "::");
  }
  std::vector<StackFacts> facts;
  for (const std::vector<FrameId>& stack : snapshot.stacks) facts.push_back(FactsOf(stack, frames, snapshot));
  if (!any_cpp && snapshot.stacks.size() > 1) facts.front().made_by = MadeBy::kBackward;
  return facts;
}

std::string LineText(const AllocatorSnapshot& snapshot, FrameId frame) {
  if (frame == kNoFrame) return "";
  const StackFrame& at = snapshot.frames[frame];
  return absl::StrFormat("%s:%d", at.file.substr(at.file.rfind('/') + 1), at.line);
}

std::string FunctionText(const AllocatorSnapshot& snapshot, FrameId frame) {
  return frame == kNoFrame ? "" : std::string(snapshot.frames[frame].name);
}

}  // namespace onnx_mem
