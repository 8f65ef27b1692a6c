#include "analyzer/eager/spans/dispatch_names.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analyzer/graph/absl_view.h"

namespace onnx_mem::eager {
namespace {

// Overloads of steps whose operator has another than the default one.
constexpr auto kOverloads = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"add", "Tensor"},
    {"sub", "Tensor"},
    {"mul", "Tensor"},
    {"div", "Tensor"},
    {"rsub", "Scalar"},
    {"pow", "Tensor_Scalar"},
    {"remainder", "Scalar"},
    {"fmod", "Scalar"},
    {"eq", "Tensor"},
    {"ne", "Tensor"},
    {"gt", "Tensor"},
    {"lt", "Tensor"},
    {"ge", "Tensor"},
    {"le", "Tensor"},
    {"where", "self"},
    {"masked_fill", "Scalar"},
    {"sum", "dim_IntList"},
    {"mean", "dim"},
    {"max", "dim"},
    {"min", "dim"},
    {"any", "dim"},
    {"all", "dim"},
    {"prod", "dim_int"},
    {"var", "correction"},
    {"std", "correction"},
    {"index", "Tensor"},
    {"lerp", "Scalar"},
    {"scatter", "src"},
    {"scatter_reduce", "two"},
    {"bernoulli", "float"},
    {"empty", "memory_format"},
});

// Parts of the names of operators that draw.
constexpr auto kDrawing =
    std::to_array<std::string_view>({"dropout", "bernoulli", "rand", "normal", "uniform", "exponential", "multinomial",
                                     "poisson", "cauchy", "geometric", "rrelu", "scaled_dot_product"});

}  // namespace

std::string DispatchNameOf(const FrameworkNode& recorded) {
  std::string_view name = recorded.name;  // "add.Tensor:12", by the line of the record
  name = name.substr(0, name.rfind(':'));
  if (name == "leaf" || name == "detach") return "";
  const size_t space = name.find("::");
  const std::string_view of = space == std::string_view::npos ? "aten" : name.substr(0, space);
  if (space != std::string_view::npos) name = name.substr(space + 2);
  const bool overloaded = name.find('.') != std::string_view::npos;
  return absl::StrCat(std::string(of), ".", std::string(name), overloaded ? "" : ".default");
}

std::string DispatchNameOfStep(std::string_view op) {
  const std::string_view plain = op.ends_with('_') ? op.substr(0, op.size() - 1) : op;
  const auto* row = std::find_if(kOverloads.begin(), kOverloads.end(), [&](const auto& r) { return r.first == plain; });
  const std::string_view overload = row == kOverloads.end() ? "default" : row->second;
  return absl::StrCat("aten.", std::string(op), ".", std::string(overload));
}

bool DrawsNumbers(std::string_view dispatch_name) {
  return std::any_of(kDrawing.begin(), kDrawing.end(),
                     [&](std::string_view part) { return dispatch_name.find(part) != std::string_view::npos; });
}

}  // namespace onnx_mem::eager
