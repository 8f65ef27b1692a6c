// One run of a model: a training step or an inference, and the user's choice for everything that the file does not say.
// Plain options that lower, eager and enact read; each default is the one that --help states.
#ifndef ONNX_MEM_ANALYZER_RUN_RUN_H_
#define ONNX_MEM_ANALYZER_RUN_RUN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/graph/dtype.h"
#include "analyzer/run/call_id.h"
#include "analyzer/run/trainer.h"

namespace onnx_mem {

// kOwn: the model computes it. kGradient: there is none, y.backward(g) of the first output.
enum class LossKind { kAuto, kSum, kMean, kCrossEntropy, kMse, kNone, kOwn, kGradient };
enum class AttentionKernel { kAuto, kEager, kMath, kFlash, kEfficient };
enum class BatchNormMode { kAuto, kAsIs, kUnfold };
enum class TiedMode { kAuto, kYes, kNo };

// What a segment saves for backward passes to host memory and comes back (spans/offload.cc), in place of a second run:
// kOverlapped: it leaves the device when the next segment of these kinds has run, kWaiting: when the segment itself
// has, kHeld: when the next that is not held has. A kGate moves nothing of its own: it is a place where others leave,
// and from whose backward on they come back. A segment that runs again may move single tensors, kOverlapped or
// kWaiting: Segment::host_calls.
enum class Offload : uint8_t { kNo, kOverlapped, kWaiting, kHeld, kGate };
inline constexpr Offload kOffloads[] = {Offload::kOverlapped, Offload::kWaiting, Offload::kHeld, Offload::kGate};
// Smaller storages stay: a copy that takes longer to start than to run frees nothing that counts. The same constant
// stands in applied.py (_LEAST_BYTES).
inline constexpr int64_t kLeastOffloadBytes = 64 << 10;
inline std::string_view NameOf(Offload offload) {
  switch (offload) {
    case Offload::kNo: break;
    case Offload::kOverlapped: return "overlapped";
    case Offload::kWaiting: return "waiting";
    case Offload::kHeld: return "held";
    case Offload::kGate: return "gate";
  }
  return "no";
}
// Behind a module of --segment.
inline std::string_view FlagSuffixOf(Offload offload) {
  switch (offload) {
    case Offload::kNo: break;
    case Offload::kOverlapped: return "@host";
    case Offload::kWaiting: return "@host-waiting";
    case Offload::kHeld: return "@host-held";
    case Offload::kGate: return "@host-gate";
  }
  return "";
}

// In which a frozen base is stored (lower/adapters/packed_base.h). kFourDouble: the scales of its blocks are packed
// too.
enum class BaseBits : uint8_t { kAsStored, kFour, kFourDouble, kEight };
inline std::string_view NameOf(BaseBits bits) {
  switch (bits) {
    case BaseBits::kAsStored: break;
    case BaseBits::kFour: return "4";
    case BaseBits::kFourDouble: return "4-double";
    case BaseBits::kEight: return "8";
  }
  return "";
}

// One torch.utils.checkpoint call (non-reentrant, early stop) over a run of modules or, without module names, nodes.
struct Segment {
  std::vector<std::string> modules;
  std::vector<std::string> nodes;
  // Selective checkpointing. Each call within the segment is in one of three states in the second run: its outputs are
  // kept since the first, it runs again, or it is skipped, as nothing reads what it makes.
  std::vector<std::string> keep = {};     // every call of these framework operators ("convolution", "addmm")
  std::vector<KeptCall> keep_calls = {};  // and these
  std::vector<CallId> skip = {};          // empty beside `keep_calls`: what nothing reads (second_run.h)
  // Beside these two: when what they name leaves. Alone: all that the modules save moves, and nothing runs again.
  Offload offload = Offload::kNo;
  std::vector<KeptCall> host_calls = {};  // calls that are kept in host memory
  bool host_inputs = false;               // so are the tensors that the second run starts from
  bool moves_some() const { return !host_calls.empty() || host_inputs; }
  bool moves_all() const { return offload != Offload::kNo && !moves_some(); }
  bool by_call() const { return !keep_calls.empty() || !skip.empty() || moves_some(); }
  bool is_selective() const { return !keep.empty() || by_call(); }
  friend bool operator==(const Segment&, const Segment&) = default;
};

// Adapters beside the layers whose weight's name matches, as PEFT makes them; everything else is frozen.
struct Lora {
  int64_t rank = 0;
  double dropout = 0.0;
  std::string weights;  // a regex
  friend bool operator==(const Lora&, const Lora&) = default;
};

struct Run {
  bool training = true;           // false: evaluation mode under no_grad
  std::optional<DType> dtype;     // --dtype: every float32 tensor in this type; nullopt: as in the file
  std::optional<DType> autocast;  // --amp: fp16 or bf16
  Trainer trainer = Trainer::kPlain;
  LossKind loss = LossKind::kAuto;
  bool retain_graph = false;  // backward(retain_graph=True): what was saved lives as long as the loss
  AttentionKernel attention = AttentionKernel::kAuto;
  std::optional<bool> fewer_key_heads;  // memory-efficient attention takes them; nullopt: as in the file's version
  BatchNormMode batch_norm = BatchNormMode::kAuto;
  std::optional<double> dropout;    // of removed dropouts; 0: as in the file; nullopt: as models of its build have
  std::string dropout_behind;       // with dropout: regex over node names and module paths; "": common places
  bool dropout_everywhere = false;  // with dropout: behind every activation too, for an upper bound
  TiedMode tied = TiedMode::kAuto;  // --tied: output projections stored beside an embedding of their transpose
  std::string inplace = "auto";     // auto, none, or a regex over node names and module paths
  std::vector<std::string> freeze;  // regexes over parameter names
  std::vector<Lora> lora;
  BaseBits base_bits = BaseBits::kAsStored;  // of the weights of frozen linear layers
  std::string bitsandbytes;                  // the version that runs them; "": the newest
  bool base_keeps_inputs = false;            // as versions before 0.43.2 do, with 4 bits
  bool freeze_scales = false;                // single numbers that scale activations are not trained, for a lower bound
  std::vector<std::string> requires_grad;    // names of inputs that need a gradient
  std::vector<std::string> hold;             // tensors that a Python variable keeps until the step ends
  std::vector<std::string> checkpointed;     // regexes over module paths: checkpointed in the user's code
  std::vector<Segment> segments;             // checkpoint plan
  int64_t accumulate = 1;                    // forward and backward runs per optimizer step; gradients add up
  std::vector<std::string> disabled_rewrites;  // names of rows in prepare/rewrite_table.inc
  friend bool operator==(const Run&, const Run&) = default;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_RUN_RUN_H_
