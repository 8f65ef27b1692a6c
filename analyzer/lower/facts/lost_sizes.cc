#include "analyzer/lower/facts/lost_sizes.h"

#include <algorithm>
#include <functional>
#include <map>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analyzer/exported/exporter_metadata.h"
#include "analyzer/lower/facts/stored_tensors.h"

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

// Of the parameters that a module owns directly, bytes.
struct OwnSizes {
  int64_t most = 0;
  int64_t all = 0;
};

// What is known of the sizes of a model's parameters.
struct KnownSizes {
  std::map<std::string, int64_t> alike, of_slot, of_name;  // the largest, bytes
  std::map<std::string, OwnSizes, std::less<>> of_module;  // those that own one directly
  int64_t most_of_vector = 0;
  int64_t most_folded = 0;      // of what the exporter can have computed on, and thrown away
  int64_t most_on_the_way = 0;  // of what it made there before what it stored

  static void Raise(int64_t& bytes, int64_t to) { bytes = std::max(bytes, to); }

  void Add(std::string_view target, const Tensor& tensor) {
    const int64_t bytes = NumBytes(tensor.shape, tensor.dtype).value_or(0);
    const auto [module, last] = SplitPath(target);
    OwnSizes& own = of_module[std::string(module)];
    Raise(own.most, bytes);
    own.all += bytes;
    Raise(alike[WithoutNumbers(target)], bytes);
    Raise(of_slot[SlotOf(target)], bytes);
    Raise(of_name[std::string(last)], bytes);
    Raise(most_on_the_way, bytes);
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

// What the exporter computed in advance and the nodes of a module read, by a call that gives no less than it is given:
// of the module's own parameters that it was made of, none is larger.
struct ComputedOfModule {
  int64_t most_bytes = 0;
  int64_t weight_bytes = 0;  // of what stands where a layer has its weight, which is counted for the parameters
};

// The name of what the exporter stored for the node: a linear layer reads the transpose of what a call gave.
std::string NameOfComputed(const Graph& graph, const FxCall& call, const Node& node, size_t slot) {
  const bool is_turned = slot == 1 && IsLinearLayer(node) && absl::StartsWith(call.target, "aten.linear");
  return is_turned && call.args.size() > slot ? call.args[slot] : graph.tensors[node.inputs[slot]].name;
}

using ComputedOfModules = std::map<std::string, ComputedOfModule, std::less<>>;  // those that run, by path

ComputedOfModules FindComputed(const Graph& graph, const ShownParameters& shown) {
  ComputedOfModules modules;
  absl::flat_hash_set<TensorId> known, weights;
  for (const auto& [target, id] : shown) known.insert(id);
  for (const Node& node : graph.nodes) {
    const FxCall call = FxCallOf(node);
    if (call.name.empty()) continue;
    ComputedOfModule& of = modules[std::string(CallingModuleOf(node))];
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const TensorId input = node.inputs[i];
      if (!input.valid() || known.contains(input)) continue;
      const Tensor& tensor = graph.tensors[input];
      if (tensor.role != TensorRole::kInitializer || graph.signature.FindTarget(tensor.name) != nullptr) continue;
      if (!IsFoldedTensor(tensor) || !NamesNoLess(NameOfComputed(graph, call, node, i))) continue;
      const int64_t bytes = NumBytes(tensor.shape, tensor.dtype).value_or(0);
      of.most_bytes = std::max(of.most_bytes, bytes);
      const bool is_weight = i == 1 && (IsConvolutionLayer(node) || IsLinearLayer(node));
      if (is_weight && weights.insert(input).second) of.weight_bytes += bytes;
    }
  }
  return modules;
}

// torch/nn/utils/weight_norm.py: of weight_g and weight_v a hook computes the weight, which the module keeps beside
// them.
bool IsDirection(std::string_view target, const std::vector<std::string>& unknown) {
  if (!target.ends_with("_v")) return false;
  const std::string length = absl::StrCat(std::string(target.substr(0, target.size() - 1)), "g");
  return std::find(unknown.begin(), unknown.end(), length) != unknown.end();
}

// onnxscript/optimizer/_constant_folding.py, DEFAULT_CONSTANT_FOLD_INPUT_SIZE_LIMIT: a node that reads a larger
// tensor is folded if it is a transpose, and then the result, which is as large, is in the file.
constexpr int64_t kMostFoldedElements = 8192;
constexpr int64_t kBytesOfElement = 4;

// positions(torch.arange(n)): rows of tables that the exporter picked and stored instead of the tables.
struct PickedRows {
  size_t tables = 0;
  int64_t least_bytes = kMostFoldedElements * kBytesOfElement;  // of the rows of one
};

PickedRows FindPickedRows(const Graph& graph) {
  PickedRows picked;
  for (TensorId id : graph.initializers) {
    const Tensor& tensor = graph.tensors[id];
    const bool is_result = graph.signature.FindTarget(tensor.name) == nullptr && IsFoldedTensor(tensor);
    if (!is_result || CallInName(tensor.name) != "embedding") continue;
    ++picked.tables;
    picked.least_bytes = std::min(picked.least_bytes, NumBytes(tensor.shape, tensor.dtype).value_or(0));
  }
  return picked;
}

KnownSizes SizesOfKnown(const Graph& graph, const ShownParameters& shown) {
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
  KnownSizes::Raise(sizes.most_on_the_way, sizes.most_folded);
  sizes.most_on_the_way = std::min(sizes.most_on_the_way, kMostFoldedElements * kBytesOfElement);
  sizes.most_folded = std::min(sizes.most_folded, sizes.most_on_the_way);
  if (sizes.most_folded == 0) sizes.most_folded = sizes.most_on_the_way;
  if (sizes.most_of_vector == 0) sizes.most_of_vector = LongestBytes(graph);
  return sizes;
}

int64_t Find(const std::map<std::string, int64_t>& of, const std::string& name) {
  const auto known = of.find(name);
  return known == of.end() ? 0 : known->second;
}

// As large as a twin or as a layer of that name; 0 where there is none.
int64_t BytesByName(const KnownSizes& sizes, std::string_view target) {
  if (const int64_t twin = Find(sizes.alike, WithoutNumbers(target)); twin != 0) return twin;
  if (const int64_t slot = Find(sizes.of_slot, SlotOf(target)); slot != 0) return slot;
  return IsVector(target) ? sizes.most_of_vector : 0;
}

// What the code around a layer that nobody calls computed of its weight; null: nothing.
const ComputedOfModule* ComputedAround(const ComputedOfModules& computed, std::string_view module) {
  if (computed.find(WithoutParametrizations(module)) != computed.end()) return nullptr;
  const auto around = computed.find(SplitPath(module).first);
  return around == computed.end() || around->second.weight_bytes == 0 ? nullptr : &around->second;
}

// Whether no other parameter has the name of this one, and its module runs with others and reads nothing that was
// computed: it may be read in another mode, as the spread of a weight (mean + spread * noise) that evaluation leaves
// out.
bool IsOfOtherMode(const KnownSizes& sizes, const ComputedOfModules& computed, std::string_view target) {
  const auto [module, last] = SplitPath(target);
  const auto runs = computed.find(WithoutParametrizations(module));
  return Find(sizes.of_name, std::string(last)) == 0 && sizes.of_module.contains(module) && runs != computed.end() &&
         runs->second.most_bytes == 0;
}

// By its own name and those of others, and by what was computed around it.
MostOfLost MostOfOne(const KnownSizes& sizes, const ComputedOfModules& computed, const std::string& target) {
  const auto [module, last] = SplitPath(target);
  const ComputedOfModule* around = ComputedAround(computed, module);
  const int64_t by_name = around != nullptr ? 0 : BytesByName(sizes, target);
  if (by_name != 0) return {.bytes = by_name};
  const int64_t namesake = Find(sizes.of_name, std::string(last));
  const auto at_most = [&](int64_t limit) { return namesake == 0 ? limit : std::min(namesake, limit); };
  // A layer of which nothing is left may never run. One that has another parameter in the file runs, and what a
  // module holds by a name of its own is no layer's weight: folded, or as small.
  MostOfLost most{.bytes = namesake};
  if (namesake == 0 || sizes.of_module.contains(module)) {
    most.bytes = at_most(sizes.most_folded);
    most.on_the_way_bytes = at_most(sizes.most_on_the_way) - most.bytes;
  }
  if (around != nullptr) most.bytes = std::min(most.bytes, around->most_bytes);
  return most;
}

// The weight of a module of which nothing else is left: a layer that never runs, or a table whose rows were picked.
bool MayBeTable(const KnownSizes& sizes, const ComputedOfModules& computed, const std::string& target) {
  const auto [module, last] = SplitPath(target);
  return last == "weight" && BytesByName(sizes, target) == 0 && !sizes.of_module.contains(module) &&
         !computed.contains(WithoutParametrizations(module)) && ComputedAround(computed, module) == nullptr;
}

}  // namespace

bool IsFoldedTensor(const Tensor& tensor) {
  return IsFloating(tensor.dtype) && tensor.shape.rank() > 0 &&
         std::any_of(tensor.shape.dims.begin(), tensor.shape.dims.end(), [](int64_t d) { return d != 1; });
}

bool IsLinearLayer(const Node& node) { return node.op == "Gemm" || node.op == "MatMul"; }
bool IsConvolutionLayer(const Node& node) { return node.op == "Conv" || node.op == "ConvTranspose"; }

int64_t ChannelsOf(const Graph& graph, const Node& node) {
  const Shape& weight = graph.tensors[node.inputs[1]].shape;
  if (!weight.known() || weight.rank() < 2) return 0;
  if (node.op == "Conv") return weight.dims[0];
  if (node.op == "ConvTranspose") return weight.dims[1] * IntAttribute(node, "group", 1);
  return weight.dims[IntAttribute(node, "transB", 0) != 0 ? 0 : 1];
}

MostOfLost MostBytesOf(const Graph& graph, const std::vector<std::string>& unknown, const ShownParameters& shown) {
  KnownSizes sizes = SizesOfKnown(graph, shown);
  ComputedOfModules computed = FindComputed(graph, shown);
  const PickedRows picked = FindPickedRows(graph);
  const auto is_table = [&](const std::string& target) { return MayBeTable(sizes, computed, target); };
  const auto tables = static_cast<size_t>(std::count_if(unknown.begin(), unknown.end(), is_table));
  MostOfLost most;
  for (const std::string& target : unknown) {
    MostOfLost one = MostOfOne(sizes, computed, target);
    if (tables <= picked.tables && is_table(target)) {
      const int64_t rest = kMostFoldedElements * kBytesOfElement - picked.least_bytes;
      one.on_the_way_bytes = std::max<int64_t>(one.bytes - rest, 0);  // it is trained as a whole
      one.bytes -= one.on_the_way_bytes;
    }
    const auto owner = computed.find(WithoutParametrizations(SplitPath(target).first));
    if (owner != computed.end() && owner->second.most_bytes > 0) {
      one.bytes = std::min(one.bytes, owner->second.most_bytes);
      const int64_t counted = IsDirection(target, unknown) ? 0 : std::min(one.bytes, owner->second.weight_bytes);
      owner->second.weight_bytes -= counted;
      one.bytes -= counted;
      if (counted > 0) one.on_the_way_bytes = 0;
    }
    if (IsOfOtherMode(sizes, computed, target)) {  // together they are as large as those of this mode
      OwnSizes& own = sizes.of_module.find(SplitPath(target).first)->second;
      const int64_t alike = std::min(own.most, own.all);
      one.bytes = std::max(one.bytes, alike);
      own.all -= alike;
    }
    most.bytes += one.bytes;
    most.on_the_way_bytes += one.on_the_way_bytes;
  }
  return most;
}

}  // namespace onnx_mem
