// A buffer that the module does not save with its state (register_buffer(..., persistent=False)) becomes an anonymous
// constant, and constants of equal contents become one: twelve layers that each keep the same relative position index
// read one tensor of the file. A layer indexes its own table with its own buffer, so each module that reads it has one.
//
//   Gather(blocks.0.table, onnx::Gather_277), Gather(blocks.1.table, onnx::Gather_277)  ->  two buffers
//
// In an evaluation export named initializers of equal contents become one, too: then the layers read the index of the
// first, features.0.0.attn.relative_position_index.
//
// Floats are so told in training-mode exports alone: an evaluation export folds expressions, and what was computed once
// and handed to all layers (a rotary table, a mask) looks the same there. Source: torch/csrc/jit/passes/onnx
// (common subexpression elimination of constants), torch/onnx/utils.py (_trace_and_get_graph_from_model).
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analyzer/graph/call_name.h"
#include "analyzer/lower/facts/parameters.h"
#include "analyzer/lower/operators/site.h"

namespace onnx_mem {
namespace {

// Smaller ones are numbers of the code, and no bytes to speak of.
constexpr int64_t kSmallestBytes = 512;

// Every reader is a module with the place of the buffer's own in another layer.
bool IsReadByItsLike(const Draft& draft, TensorId id) {
  const std::string& name = draft.tensor(id).name;
  const std::string owner = WithoutDigits(name.substr(0, std::min(name.rfind('.'), name.size())));
  const std::vector<NodeId>& readers = draft.readers(id);
  return !owner.empty() && std::all_of(readers.begin(), readers.end(), [&](NodeId reader) {
    return WithoutDigits(draft.node(reader).module) == owner;
  });
}

bool MayBeMerged(const Lowering& lowering, TensorId id) {
  const Draft& draft = lowering.draft;
  const Tensor& tensor = draft.tensor(id);
  if (draft.kind(id) != TensorKind::kBuffer || draft.producer(id).valid()) return false;
  if (IsFloating(tensor.dtype) && !lowering.training_form) return false;
  if (!IsExporterName(tensor.name) && (lowering.training_form || !IsReadByItsLike(draft, id))) return false;
  return draft.readers(id).size() > 1 && NumBytes(tensor.shape, tensor.dtype).value_or(0) >= kSmallestBytes;
}

// A buffer for each module but the first that reads `id`; how many.
int64_t GiveEachModuleItsOwn(Draft& draft, TensorId id) {
  std::map<std::string, TensorId> owned;
  const std::vector<NodeId> readers = draft.readers(id);
  for (NodeId reader : readers) {
    const std::string module = draft.node(reader).module;
    if (module.empty()) return 0;
  }
  for (NodeId reader : readers) {
    const std::string module = draft.node(reader).module;
    auto it = owned.find(module);
    if (it == owned.end()) {
      const Tensor& tensor = draft.tensor(id);
      const TensorId own = owned.empty() ? id
                                         : draft.NewTensor(absl::StrCat(tensor.name, "/", module), tensor.dtype,
                                                           tensor.shape.dims, TensorKind::kBuffer);
      it = owned.emplace(module, own).first;
    }
    std::vector<TensorId> inputs = draft.node(reader).inputs;
    std::replace(inputs.begin(), inputs.end(), id, it->second);
    draft.SetInputs(reader, std::move(inputs));
  }
  return static_cast<int64_t>(owned.size()) - 1;
}

}  // namespace

int64_t SplitModuleBuffers(Lowering& lowering) {
  Draft& draft = lowering.draft;
  int64_t count = 0;
  const auto tensors = static_cast<int32_t>(draft.num_tensors());
  for (int32_t i = 0; i < tensors; ++i) {
    if (MayBeMerged(lowering, TensorId(i))) count += GiveEachModuleItsOwn(draft, TensorId(i));
  }
  return count;
}

}  // namespace onnx_mem
