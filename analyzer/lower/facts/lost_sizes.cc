#include "analyzer/lower/facts/lost_sizes.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace onnx_mem {
namespace {

// "layers.3.fc.weight" -> "layers.#.fc.weight"
std::string WithoutNumbers(std::string_view target) {
  std::string out;
  for (char c : target) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit || !out.ends_with('#')) out += digit ? '#' : c;
  }
  return out;
}

// "layers.3.norm1.weight" -> "norm#.weight": the slot of a layer, by its name in the module around it.
std::string SlotOf(std::string_view target) {
  const auto [module, last] = SplitPath(target);
  return WithoutNumbers(absl::StrCat(std::string(SplitPath(module).second), ".", std::string(last)));
}

// Of one dimension by what it is called: the biases of layers, scale and shift of norms.
bool IsVector(std::string_view target) {
  const auto [module, last] = SplitPath(target);
  const std::string layer = absl::AsciiStrToLower(std::string(SplitPath(module).second));
  const bool is_of_norm = absl::StrContains(layer, "norm") || absl::StartsWith(layer, "bn");
  return absl::StartsWith(std::string(last), "bias") || last == "gamma" || last == "beta" ||
         (last == "weight" && is_of_norm);
}

// What is known of the sizes of a model's parameters.
struct KnownSizes {
  std::map<std::string, int64_t> alike, of_slot, of_name;  // the largest, bytes
  std::set<std::string, std::less<>> modules;              // that own one directly
  int64_t most_of_all = 0;
  int64_t most_of_vector = 0;
  int64_t most_folded = 0;  // of what the exporter can have computed on, and thrown away

  static void Raise(int64_t& bytes, int64_t to) { bytes = std::max(bytes, to); }

  void Add(std::string_view target, const Tensor& tensor) {
    const int64_t bytes = NumBytes(tensor.shape, tensor.dtype).value_or(0);
    const auto [module, last] = SplitPath(target);
    modules.emplace(module);
    Raise(alike[WithoutNumbers(target)], bytes);
    Raise(of_slot[SlotOf(target)], bytes);
    Raise(of_name[std::string(last)], bytes);
    Raise(most_of_all, bytes);
    if (tensor.shape.rank() == 1) Raise(most_of_vector, bytes);
  }
};

// The longest dimension of what the model stores: a vector that scales or shifts a value is no longer.
int64_t LongestBytes(const Graph& graph) {
  int64_t longest = 0;
  for (TensorId id : graph.initializers) {
    const Tensor& tensor = graph.tensors[id];
    if (!IsFloating(tensor.dtype)) continue;
    for (int64_t dim : tensor.shape.dims) longest = std::max(longest, NumBytes(Shape({dim}), tensor.dtype).value_or(0));
  }
  return longest;
}

KnownSizes SizesOfKnown(const Graph& graph, const ShownParameters& shown) {
  // onnxscript/optimizer/_constant_folding.py, DEFAULT_CONSTANT_FOLD_INPUT_SIZE_LIMIT: a node that reads a larger
  // tensor is folded if it is a transpose, and then the result, which is as large, is in the file.
  constexpr int64_t kMostFoldedElements = 8192;
  constexpr int64_t kBytesOfElement = 4;
  KnownSizes sizes;
  absl::flat_hash_set<TensorId> of_one;
  for (const auto& [target, id] : shown) {
    sizes.Add(target, graph.tensors[id]);
    of_one.insert(id);
  }
  for (TensorId id : graph.initializers) {
    const Tensor& tensor = graph.tensors[id];
    const SignatureEntry* entry = graph.signature.FindTarget(tensor.name);
    if (entry != nullptr && entry->kind == SignatureKind::kParameter) sizes.Add(entry->target, tensor);
    if (entry != nullptr || of_one.contains(id) || !IsFoldedTensor(tensor)) continue;
    // What forward computed of parameters and the exporter stored is as large as they are, but where it picks or adds.
    const int64_t bytes = NumBytes(tensor.shape, tensor.dtype).value_or(0);
    KnownSizes::Raise(sizes.most_folded, bytes);
    if (tensor.shape.rank() == 1) KnownSizes::Raise(sizes.most_of_vector, bytes);
  }
  if (sizes.most_folded == 0) sizes.most_folded = sizes.most_of_all;
  if (sizes.most_of_vector == 0) sizes.most_of_vector = LongestBytes(graph);
  sizes.most_folded = std::min(sizes.most_folded, kMostFoldedElements * kBytesOfElement);
  return sizes;
}

}  // namespace

std::pair<std::string_view, std::string_view> SplitPath(std::string_view target) {
  const size_t dot = target.rfind('.');
  if (dot == std::string_view::npos) return {{}, target};
  return {target.substr(0, dot), target.substr(dot + 1)};
}

bool IsFoldedTensor(const Tensor& tensor) {
  return IsFloating(tensor.dtype) && tensor.shape.rank() > 0 &&
         std::any_of(tensor.shape.dims.begin(), tensor.shape.dims.end(), [](int64_t d) { return d != 1; });
}

int64_t ChannelsOf(const Graph& graph, const Node& node) {
  const Shape& weight = graph.tensors[node.inputs[1]].shape;
  if (!weight.known() || weight.rank() < 2) return 0;
  if (node.op == "Conv") return weight.dims[0];
  if (node.op == "ConvTranspose") return weight.dims[1] * IntAttribute(node, "group", 1);
  return weight.dims[IntAttribute(node, "transB", 0) != 0 ? 0 : 1];
}

int64_t MostBytesOf(const Graph& graph, const std::vector<std::string>& unknown, const ShownParameters& shown) {
  const KnownSizes sizes = SizesOfKnown(graph, shown);
  const auto find = [](const std::map<std::string, int64_t>& of, const std::string& name) {
    const auto known = of.find(name);
    return known == of.end() ? int64_t{0} : known->second;
  };
  int64_t sum = 0;
  for (const std::string& target : unknown) {
    const auto [module, last] = SplitPath(target);
    int64_t bytes = find(sizes.alike, WithoutNumbers(target));
    if (bytes == 0) bytes = find(sizes.of_slot, SlotOf(target));
    if (bytes == 0 && IsVector(target)) bytes = sizes.most_of_vector;
    const int64_t namesake = bytes == 0 ? find(sizes.of_name, std::string(last)) : 0;
    // A layer of which nothing is left may never run. One that has another parameter in the file runs, and what a
    // module holds by a name of its own is no layer's weight: folded, or as small.
    if (bytes == 0) bytes = sizes.modules.contains(module) ? std::min(namesake, sizes.most_folded) : namesake;
    sum += bytes != 0 ? bytes : sizes.most_folded;
  }
  return sum;
}

}  // namespace onnx_mem
