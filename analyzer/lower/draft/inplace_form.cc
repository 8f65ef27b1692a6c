#include "analyzer/lower/draft/inplace_form.h"

#include <algorithm>
#include <array>

namespace onnx_mem {
namespace {

constexpr auto kInPlaceForms = std::to_array<std::string_view>({
    "relu",      "leaky_relu",  "relu6",       "silu",      "hardswish",  "elu",       "selu",
    "celu",      "hardsigmoid", "mish",        "dropout",   "sigmoid",    "tanh",      "clamp",
    "threshold", "scatter",     "scatter_add", "index_add", "index_copy", "index_put",
});

}  // namespace

bool HasInPlaceForm(std::string_view op) {
  return std::find(kInPlaceForms.begin(), kInPlaceForms.end(), op) != kInPlaceForms.end();
}

}  // namespace onnx_mem
