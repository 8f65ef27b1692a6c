// Sources: bitsandbytes/functional.py (quantize_4bit: blocks of 64, two numbers to a byte, absmax float32, 16 code
// values; with compress_statistics absmax passes through quantize_blockwise in blocks of 256), nn/modules.py
// (Int8Params: one scale for each row); transformers/integrations/bitsandbytes.py (replace_with_bnb_linear: every
// nn.Linear and Conv1D; the head stays).
#include "analyzer/lower/adapters/packed_base.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "analyzer/graph/suggest.h"
#include "analyzer/lower/adapters/layers.h"
#include "analyzer/ops/ops.h"

namespace onnx_mem {
namespace {

constexpr int64_t kBlock = 64, kCodes = 16, kBlockOfScales = 256, kCodesOfScales = 256;

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Directly, or as rows that are viewed as what they came from.
bool GivesOutput(const Lowered& lowered, TensorId result) {
  for (TensorId id = result; id.valid();) {
    const TensorIds& outputs = lowered.graph.outputs;
    if (std::find(outputs.begin(), outputs.end(), id) != outputs.end()) return true;
    const auto& readers = lowered.graph.tensors[id].consumers;
    id = TensorId();
    for (NodeId reader : readers) {
      const FrameworkNode& node = lowered.graph.nodes[reader];
      if (IsWholeView(node.op)) id = node.outputs[0];
    }
  }
  return false;
}

// The products that read each parameter; none of a parameter that something else reads too.
absl::flat_hash_map<TensorId, NodeIds> ProductsByWeight(const Lowered& lowered) {
  absl::flat_hash_map<TensorId, NodeIds> products;
  absl::flat_hash_set<TensorId> others;
  for (NodeId id(0); lowered.graph.nodes.contains(id); id = NodeId(id.value() + 1)) {
    const FrameworkNode& node = lowered.graph.nodes[id];
    const TensorId weight =
        IsProduct(node.op) && node.inputs.size() > 1 ? ParameterBehind(lowered, node.inputs[1]) : TensorId();
    if (weight.valid()) products[weight].push_back(id);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const bool as_weight = weight.valid() && i == 1;
      if (as_weight || node.op == "permute") continue;
      if (const TensorId read = ParameterBehind(lowered, node.inputs[i]); read.valid()) others.insert(read);
    }
  }
  for (TensorId weight : others) products.erase(weight);
  return products;
}

void AddStored(Lowered& lowered, const std::string& name, Dims dims, DType dtype = DType::kFloat32) {
  Tensor tensor;
  tensor.name = name;
  tensor.dtype = dtype;
  tensor.shape = Shape(std::move(dims));
  tensor.role = TensorRole::kInitializer;
  lowered.kinds.Add(TensorKind::kBuffer);
  lowered.releases.Add(-1);
  lowered.graph.initializers.push_back(lowered.graph.tensors.Add(std::move(tensor)));
}

void AddScales(Lowered& lowered, std::string weight, int64_t features, int64_t depth, BaseBits bits) {
  if (bits == BaseBits::kEight) return AddStored(lowered, absl::StrCat(weight, ".SCB"), {features});
  const int64_t blocks = CeilDiv(features * depth, kBlock);
  const bool doubled = bits == BaseBits::kFourDouble;
  AddStored(lowered, absl::StrCat(weight, ".absmax"), {blocks}, doubled ? DType::kUInt8 : DType::kFloat32);
  AddStored(lowered, absl::StrCat(weight, ".quant_map"), {kCodes});
  if (!doubled) return;
  AddStored(lowered, absl::StrCat(weight, ".nested_absmax"), {CeilDiv(blocks, kBlockOfScales)});
  AddStored(lowered, absl::StrCat(weight, ".nested_quant_map"), {kCodesOfScales});
  AddStored(lowered, absl::StrCat(weight, ".nested_offset"), {});
}

// gemm_4bit, which reads weights as they are packed, came with 0.50.0. `version`: checked by the option; "": the
// newest.
bool UnpacksForProducts(std::string_view version) {
  if (!version.starts_with("0.")) return false;
  const std::string_view minor = version.substr(2, version.find('.', 2) - 2);
  int number = 0;
  return absl::SimpleAtoi(absl::string_view(minor.data(), minor.size()), &number) && number < 50;
}

void Pack(Lowered& lowered, TensorId weight, const Run& run, const NodeIds& products) {
  const BaseBits bits = run.base_bits;
  const Dims dims = lowered.graph.tensors[weight].shape.dims;
  const int64_t features = lowered.graph.tensors[lowered.graph.nodes[products[0]].outputs[0]].shape.dims.back();
  const int64_t depth = dims[0] * dims[1] / std::max<int64_t>(features, 1);
  for (NodeId id : products) {
    FrameworkNode& node = lowered.graph.nodes[id];
    node.op = bits == BaseBits::kEight ? "int8_linear" : "packed_linear";
    node.attributes = {{"features", features}, {"depth", depth}};
    if (bits == BaseBits::kFourDouble) node.attributes["packed_scales"] = CeilDiv(features * depth, kBlock);
    if (RowOf(run.trainer).packs_as_half) node.attributes["half"] = int64_t{1};
    if (run.base_keeps_inputs) node.attributes["keeps_input"] = int64_t{1};
    if (UnpacksForProducts(run.bitsandbytes)) node.attributes["unpacks"] = int64_t{1};
    node.inputs[1] = weight;
  }
  lowered.graph.tensors[weight].dtype = bits == BaseBits::kEight ? DType::kInt8 : DType::kInt4;
  AddScales(lowered, ShownName(lowered.graph.tensors[weight]), features, depth, bits);
}

// Adapters on the layers that could be packed, by the last names of their modules: "c_attn|c_proj". LoRA freezes them.
absl::Status NothingFrozen(const Lowered& lowered, const absl::flat_hash_map<TensorId, NodeIds>& products) {
  constexpr size_t kMostNames = 2;
  std::vector<std::string> names;
  for (TensorId id(0); lowered.graph.tensors.contains(id); id = TensorId(id.value() + 1)) {
    const auto found = products.find(id);
    if (found == products.end() || lowered.graph.tensors[id].shape.rank() != 2 || names.size() == kMostNames) continue;
    if (GivesOutput(lowered, lowered.graph.nodes[found->second.front()].outputs[0])) continue;
    const std::vector<std::string> path = absl::StrSplit(ShownName(lowered.graph.tensors[id]), '.');
    if (path.size() < 2) continue;
    const std::string& module = path[path.size() - 2];
    if (std::find(names.begin(), names.end(), module) == names.end()) names.push_back(module);
  }
  std::vector<std::string> details = {
      "way out: --freeze REGEX, or --lora RANK:REGEX, which freezes all but its adapters"};
  if (!names.empty()) {
    details = {absl::StrCat("try: ... --lora ", ShellWord(absl::StrCat("8:", absl::StrJoin(names, "|"))))};
  }
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kNoMatch,
                     "--base-bits packs the weights of frozen linear layers, and there are none", details);
}

}  // namespace

absl::Status PackBase(Lowered& lowered, const Run& run) {
  if (run.base_bits == BaseBits::kAsStored) return absl::OkStatus();
  const auto products = ProductsByWeight(lowered);
  bool any = false;
  const TensorId end = lowered.graph.tensors.next_id();
  for (TensorId id(0); id != end; id = TensorId(id.value() + 1)) {
    const auto found = products.find(id);
    if (found == products.end() || lowered.graph.tensors[id].shape.rank() != 2) continue;
    if (run.lora.empty() && !lowered.frozen.contains(id)) continue;
    const bool head = std::any_of(found->second.begin(), found->second.end(), [&](NodeId node) {
      return GivesOutput(lowered, lowered.graph.nodes[node].outputs[0]);
    });
    if (head && !RowOf(run.trainer).packs_as_half) continue;
    Pack(lowered, id, run, found->second);
    any = true;
  }
  if (any) {
    LinkTensors(lowered.graph);
    return absl::OkStatus();
  }
  return NothingFrozen(lowered, products);
}

}  // namespace onnx_mem
