#include "analyzer/exported/value_names.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analyzer/graph/absl_view.h"

namespace onnx_mem {
namespace {

bool IsNumber(std::string_view s) {
  return !s.empty() && std::all_of(s.begin(), s.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// "const_3_cast": a number in a function of onnxscript's library, cast to the type of what it meets (CastLike).
bool IsCastConstant(std::string_view name) {
  constexpr std::string_view kHead = "const_", kCast = "cast";
  if (!name.starts_with(kHead)) return false;
  name.remove_prefix(kHead.size());
  if (const size_t end = name.find('_'); end != std::string_view::npos && IsNumber(name.substr(0, end))) {
    name.remove_prefix(end + 1);
  }
  if (!name.starts_with(kCast)) return false;
  name.remove_prefix(kCast.size());
  return name.empty() || (name[0] == '_' && IsNumber(name.substr(1)));
}

// "n17", "a8f3c9": no word, no path.
bool IsOpaque(std::string_view name) {
  const auto is_digit = [](unsigned char c) { return absl::ascii_isdigit(c); };
  return !IsNumber(name) && std::any_of(name.begin(), name.end(), is_digit) &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) { return absl::ascii_isalnum(c); });
}

}  // namespace

bool IsExporterName(std::string_view name) {
  if (name.empty()) return true;
  if (name[0] == '/' || absl::StartsWith(View(name), "onnx::") || IsNumber(name)) return true;
  for (std::string_view prefix : {"val_", "scalar_tensor_default", "_val_", "const_", "Constant_"}) {
    if (!absl::StartsWith(View(name), View(prefix))) continue;
    const std::string_view rest = name.substr(prefix.size());
    if (rest.empty() || IsNumber(rest) || rest[0] == '_') return true;
  }
  return IsCastConstant(name);
}

bool IsTorchExporterName(std::string_view name) {
  if (absl::StartsWith(View(name), "onnx::")) return true;
  if (absl::StartsWith(View(name), "val_")) return IsNumber(name.substr(4));
  return absl::StartsWith(View(name), "/") && absl::StrContains(View(name), "_output_");
}

bool HasOpaqueNames(const Graph& graph) {
  constexpr int kFewest = 4;  // of less, a hand may have written them
  const absl::flat_hash_set<TensorId> outputs(graph.outputs.begin(), graph.outputs.end());
  constexpr int kAmong = 10;  // one of so many may have a name that lowering found elsewhere
  int opaque = 0, others = 0;
  bool stores_weights = false;
  for (TensorId id(0); graph.tensors.contains(id); id = TensorId(id.value() + 1)) {
    const Tensor& tensor = graph.tensors[id];
    if (tensor.role == TensorRole::kInput || outputs.contains(id)) continue;  // who runs the file needs these names
    const bool is_opaque = IsOpaque(tensor.name);
    stores_weights |= is_opaque && tensor.role == TensorRole::kInitializer && IsFloating(tensor.dtype);
    ++(is_opaque ? opaque : others);
  }
  return stores_weights && opaque >= kFewest && others * kAmong <= opaque;
}

Diagnostic OpaqueNames(const Graph& graph) {
  // Where the exporter wrote beside each node what it was, the names that belong to it are gone.
  const bool is_lost =
      std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) { return !node.metadata.empty(); });
  return {Code::kWeightNames,
          is_lost ? Severity::kWarning : Severity::kNote,
          static_cast<int64_t>(graph.initializers.size()),
          absl::StrCat("names of stored tensors, as '", graph.tensors[graph.initializers.front()].name,
                       "', tell nothing of the module: what names decide is open"),
          {"why: whether an exporter computed a weight shows in its name alone; the range holds both",
           "way out: the file as torch.onnx.export wrote it"},
          {}};
}

}  // namespace onnx_mem
