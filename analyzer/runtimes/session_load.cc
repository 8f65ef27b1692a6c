#include "analyzer/runtimes/session_load.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "analyzer/lower/facts/standard_operator.h"

namespace onnx_mem {
namespace {

constexpr std::string_view kBlocksDomain = "com.microsoft.nchwc";
constexpr size_t kNotHeld = static_cast<size_t>(-1);

// Operators whose kernels pack a stored second operand of two dimensions, and which input that is.
constexpr auto kPackers = std::to_array<std::pair<std::string_view, size_t>>({{"MatMul", 1},
                                                                              {"Gemm", 1},
                                                                              {"FusedMatMul", 1},
                                                                              {"FusedGemm", 1},
                                                                              {"MatMulInteger", 1},
                                                                              {"DynamicQuantizeMatMul", 1},
                                                                              {"MatMulIntegerToFloat", 1},
                                                                              {"QLinearMatMul", 3},
                                                                              {"QGemm", 3}});

int64_t RoundedTo(int64_t size, int64_t multiple) { return (size + multiple - 1) / multiple * multiple; }

class Loader {
 public:
  Loader(const Graph& file, const Graph& session)
      : file_(file),
        session_(session),
        held_(session.tensors.size(), kNotHeld),
        readers_(session.tensors.size(), 0),
        gathers_(session.tensors.size(), 0) {
    for (const Node& node : session.nodes) {
      for (TensorId input : node.inputs) {
        if (input.valid()) ++readers_[input];
      }
      if (IsStandard(node, "Gather") && node.inputs.front().valid()) ++gathers_[node.inputs.front()];
    }
  }

  SessionLoad Run() {
    for (TensorId id : file_.initializers) {
      const int64_t bytes = BytesOf(file_, id);
      if (bytes <= 0) continue;
      held_[id] = load_.stored.size();
      load_.stored.push_back({bytes, readers_[id] > 0 && readers_[id] == gathers_[id]});
    }
    next_ = load_.stored.size();
    for (TensorId id : file_.initializers) Widen(id);
    for (const Node& node : file_.nodes) Fold(node);
    DropUnread();
    for (const Node& node : session_.nodes) Reorder(node);
    DropReordered();
    for (const Node& node : session_.nodes) Pack(node);
    return std::move(load_);
  }

 private:
  static int64_t BytesOf(const Graph& graph, TensorId id) {
    const Tensor& tensor = graph.tensors[id];
    return NumBytes(tensor.shape, tensor.dtype).value_or(0);
  }
  bool IsHeld(TensorId id) const { return id.valid() && held_.contains(id) && held_[id] != kNotHeld; }

  size_t Add(LoadStep::Kind kind, size_t weight, int64_t bytes) {
    load_.steps.push_back({kind, weight, bytes});
    return next_++;
  }

  // Half precision is computed in single: casts of weights are folded.
  void Widen(TensorId id) {
    const int64_t bytes = BytesOf(session_, id);
    if (!IsHeld(id) || bytes <= BytesOf(file_, id)) return;
    const size_t narrow = held_[id];
    held_[id] = Add(LoadStep::Kind::kTranspose, narrow, bytes);
    Add(LoadStep::Kind::kDrop, narrow, 0);
  }

  // A node of constants alone, whose result the session stores.
  void Fold(const Node& node) {
    if (node.inputs.empty() || !IsHeld(node.inputs.front())) return;
    for (TensorId output : node.outputs) {
      if (!output.valid() || IsHeld(output) || file_.tensors[output].role != TensorRole::kActivation) continue;
      if (session_.tensors[output].role != TensorRole::kInitializer) continue;
      const int64_t bytes = BytesOf(session_, output);
      if (bytes > 0) held_[output] = Add(LoadStep::Kind::kTranspose, held_[node.inputs.front()], bytes);
    }
  }

  void DropUnread() {
    for (TensorId id : file_.initializers) {
      if (!IsHeld(id) || readers_[id] > 0) continue;
      Add(LoadStep::Kind::kDrop, std::exchange(held_[id], kNotHeld), 0);
    }
  }

  void Reorder(const Node& node) {
    if (node.domain != kBlocksDomain || node.op != "Conv" || node.inputs.size() < 2 || !IsHeld(node.inputs[1])) return;
    const TensorId weight = node.inputs[1];
    if (std::find(reordered_.begin(), reordered_.end(), weight) != reordered_.end()) return;
    reordered_.push_back(weight);
    Add(LoadStep::Kind::kReorder, held_[weight], BytesOf(session_, weight));
  }

  void DropReordered() {
    for (TensorId id : reordered_) Add(LoadStep::Kind::kDrop, std::exchange(held_[id], kNotHeld), 0);
  }

  void Pack(const Node& node) {
    const auto packer =
        std::find_if(kPackers.begin(), kPackers.end(), [&](const auto& each) { return node.op == each.first; });
    if (packer == kPackers.end() || node.inputs.size() <= packer->second) return;
    const TensorId weight = node.inputs[packer->second];
    if (!IsHeld(weight)) return;
    const Tensor& tensor = session_.tensors[weight];
    if (!tensor.shape.known() || tensor.shape.rank() != 2) return;
    const bool turned = IntAttribute(node, "transB", 0) != 0;
    const int64_t deep = tensor.shape.dims[turned ? 1 : 0], wide = tensor.shape.dims[turned ? 0 : 1];
    constexpr int64_t kColumns = 16;  // MLAS_SGEMM_STRIDEN_THREAD_ALIGN (core/mlas/lib/mlasi.h)
    const std::optional<int64_t> bytes = NumBytes(Shape({deep, RoundedTo(wide, kColumns)}), tensor.dtype);
    if (!bytes) return;
    held_[weight] = Add(LoadStep::Kind::kPack, held_[weight], *bytes);
  }

  const Graph& file_;
  const Graph& session_;
  SessionLoad load_;
  IdVector<TensorId, size_t> held_;  // by tensor of the session, whose first are those of the file
  IdVector<TensorId, int> readers_, gathers_;
  TensorIds reordered_;
  size_t next_ = 0;
};

}  // namespace

SessionLoad LoadOf(const Graph& file, const Graph& session) { return Loader(file, session).Run(); }

}  // namespace onnx_mem
