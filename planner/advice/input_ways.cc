// Smaller inputs: half the height and width of images, half the length of sequences. The model is bound again with
// them; where that fails (sizes baked into weights or constants), the accountant says so and nothing is proposed.
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "planner/advice/way.h"

namespace onnx_mem {
namespace {

// The axes that are space or time; none where the rank does not tell.
std::vector<size_t> SizeAxes(const Tensor& input) {
  const size_t rank = input.shape.rank();
  if (IsFloating(input.dtype) && rank >= 4) {
    std::vector<size_t> axes;
    for (size_t axis = 2; axis < rank; ++axis) axes.push_back(axis);
    return axes;
  }
  if (!IsFloating(input.dtype) && rank == 2) return {1};
  return {};
}

// `dims` with those axes halved; false where one is odd.
bool Halve(Dims& dims, const std::vector<size_t>& axes) {
  for (size_t axis : axes) {
    if (dims[axis] < 2 || dims[axis] % 2 != 0) return false;
    dims[axis] /= 2;
  }
  return !axes.empty();
}

// Half of every dimension that the user named.
std::vector<Proposal> HalveNamed(const Situation& s) {
  Proposal change{"", {}, "another task", Price::kTask, s.workload};
  std::vector<std::string> names;
  for (auto& [name, size] : change.workload.bindings.dims) {
    if (size < 2 || size % 2 != 0) return {};
    size /= 2;
    names.push_back(absl::StrCat(name, " ", size));
    change.flags.insert(change.flags.end(), {"-d", absl::StrCat(name, "=", size)});
  }
  change.change = absl::StrJoin(names, ", ");
  return {change};
}

}  // namespace

std::vector<Proposal> ProposeSmallerInput(const Situation& s) {
  if (!s.workload.bindings.dims.empty()) return HalveNamed(s);
  Proposal change{"", {}, "another task", Price::kTask, s.workload};
  bool images = false;
  for (TensorId id : s.model->graph.inputs) {
    const Tensor& input = s.model->graph.tensors[id];
    Dims dims = input.shape.dims;
    const std::vector<size_t> axes = SizeAxes(input);
    if (!input.shape.known() || !Halve(dims, axes)) continue;
    images = images || axes.size() > 1;
    change.flags.insert(change.flags.end(), {"--input", absl::StrCat(input.name, "=", absl::StrJoin(dims, "x"))});
    change.workload.bindings.inputs[input.name] = dims;
  }
  if (change.flags.empty()) return {};
  change.change = images ? "half the height and width" : "half the length";
  return {change};
}

}  // namespace onnx_mem
