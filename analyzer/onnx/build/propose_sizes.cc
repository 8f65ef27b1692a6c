#include "analyzer/onnx/build/propose_sizes.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/graph/suggest.h"
#include "analyzer/onnx/build/bind.h"
#include "analyzer/onnx/infer/shapes.h"
#include "analyzer/onnx/sizes/dim_expression.h"
#include "onnx/onnx_pb.h"

namespace onnx_mem {
namespace {

// What a length is proposed to be; of a decoder, the cache and the new tokens make up one.
struct Lengths {
  int64_t whole, past, now, pixels;
};
constexpr auto kLengths = std::to_array<Lengths>({
    {512, 496, 16, 224},
    {256, 240, 16, 256},
    {64, 48, 16, 64},
    {32, 16, 16, 32},
    {8, 4, 4, 8},
    {1, 1, 1, 1},
});

// The mask of a decoder spans the cache and the new tokens; one that is for either alone is exported too.
enum class Mask { kWhole, kNow, kPast };

// What is known of one open dimension.
enum class Meaning { kLength, kPast, kMask, kPixels };

bool Has(const std::string& symbol, const char* word) { return absl::StrContains(absl::AsciiStrToLower(symbol), word); }

// The axis along which a node appends to its first input: where a cache grows.
std::optional<size_t> AppendAxis(const onnx::NodeProto& node, size_t rank) {
  if (!node.domain().empty() || node.op_type() != "Concat") return std::nullopt;
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() != "axis") continue;
    const int64_t axis = attribute.i() < 0 ? attribute.i() + static_cast<int64_t>(rank) : attribute.i();
    if (axis >= 0 && axis < static_cast<int64_t>(rank)) return static_cast<size_t>(axis);
  }
  return std::nullopt;
}

class Proposer {
 public:
  Proposer(const onnx::ModelProto& model, const Bindings& bindings, OpenInputs found)
      : model_(model), bindings_(bindings), found_(std::move(found)) {}

  std::vector<Bindings> Run() {
    FindCaches();
    TakeSizesOfAppended();
    std::vector<Bindings> proposals;
    for (const Lengths& lengths : kLengths) {
      for (Mask mask : {Mask::kWhole, Mask::kNow, Mask::kPast}) {
        Bindings proposal = Proposal(lengths, mask);
        if (std::find(proposals.begin(), proposals.end(), proposal) == proposals.end()) {
          proposals.push_back(std::move(proposal));
        }
      }
    }
    return proposals;
  }

 private:
  void FindCaches();
  void TakeSizesOfAppended();
  void TakeSizes(const DeclaredInput& input, const Shape& appended);
  Meaning MeaningOf(const OpenDim& open) const;
  bool IsOfOneInput(const std::string& symbol) const;
  std::optional<int64_t> NewTokens(const Bindings& proposal) const;
  Bindings Proposal(const Lengths& lengths, Mask mask) const;
  Dims WholeShape(const DeclaredInput& input, const Lengths& lengths) const;

  const onnx::ModelProto& model_;
  const Bindings& bindings_;
  const OpenInputs found_;
  std::vector<std::pair<size_t, const onnx::NodeProto*>> appended_;  // an input, and what appends to it
  std::vector<std::string> past_;                                    // symbols of lengths of caches
  std::map<std::string, int64_t> taken_;                             // sizes that the graph itself tells
};

void Proposer::FindCaches() {
  std::map<std::string, size_t> places;
  for (size_t k = 0; k < found_.inputs.size(); ++k) places[found_.inputs[k].name] = k;
  for (const onnx::NodeProto& node : model_.graph().node()) {
    const auto input = node.input_size() > 1 ? places.find(node.input(0)) : places.end();
    if (input == places.end()) continue;
    const std::vector<DeclaredDim>& dims = found_.inputs[input->second].dims;
    const std::optional<size_t> axis = AppendAxis(node, dims.size());
    if (!axis) continue;
    appended_.emplace_back(input->second, &node);
    if (dims[*axis].size) continue;
    for (const std::string& symbol : DimNames(dims[*axis].symbol)) past_.push_back(symbol);
  }
  for (const DeclaredInput& input : found_.inputs) {
    for (const DeclaredDim& dim : input.dims) {
      const std::vector<std::string> names = DimNames(dim.symbol);
      if (names.size() == 1 && Has(names[0], "past") && names[0] == dim.symbol) past_.push_back(names[0]);
    }
  }
}

// What is appended to a cache has its heads and their size.
void Proposer::TakeSizesOfAppended() {
  if (appended_.empty()) return;
  absl::flat_hash_map<std::string, Shape> shapes;
  for (const DeclaredInput& input : found_.inputs) {
    Dims dims;
    for (const DeclaredDim& dim : input.dims) {
      dims.push_back(dim.size ? *dim.size : EvaluateDim(dim.symbol, found_.dims).value_or(kUnknownDim));
    }
    if (input.has_rank) shapes.emplace(input.name, Shape(std::move(dims)));
  }
  const absl::StatusOr<InferredGraph> facts = InferShapes(model_, {.input_shapes = &shapes});
  if (!facts.ok()) return;
  for (const auto& [input, node] : appended_) {
    const auto fact = facts->values.find(node->output(0));
    if (fact != facts->values.end()) TakeSizes(found_.inputs[input], fact->second.shape);
  }
}

void Proposer::TakeSizes(const DeclaredInput& input, const Shape& appended) {
  if (!appended.has_rank || appended.rank() != input.dims.size()) return;
  for (size_t i = 0; i < input.dims.size(); ++i) {
    const std::string& symbol = input.dims[i].symbol;
    const bool known = input.dims[i].size || appended.dims[i] == kUnknownDim;
    const bool grows = std::find(past_.begin(), past_.end(), symbol) != past_.end();
    if (!known && !grows && !symbol.empty()) taken_.emplace(symbol, appended.dims[i]);
  }
}

bool Proposer::IsOfOneInput(const std::string& symbol) const {
  return std::count_if(found_.inputs.begin(), found_.inputs.end(), [&](const DeclaredInput& input) {
           return std::any_of(input.dims.begin(), input.dims.end(), [&](const DeclaredDim& dim) {
             const std::vector<std::string> names = DimNames(dim.symbol);
             return std::find(names.begin(), names.end(), symbol) != names.end();
           });
         }) == 1;
}

Meaning Proposer::MeaningOf(const OpenDim& open) const {
  const DeclaredInput& input = found_.inputs[open.input];
  if (std::find(past_.begin(), past_.end(), open.symbol) != past_.end()) return Meaning::kPast;
  const bool named_mask = Has(input.name, "mask") || Has(open.symbol, "total");
  if (!past_.empty() && named_mask && IsOfOneInput(open.symbol)) return Meaning::kMask;
  const bool image = IsFloating(input.dtype) && (input.dims.size() == 4 || input.dims.size() == 5);
  return image && past_.empty() ? Meaning::kPixels : Meaning::kLength;
}

// The last dimension of the first input of integers that is no mask: how many tokens are new.
std::optional<int64_t> Proposer::NewTokens(const Bindings& proposal) const {
  std::map<std::string, int64_t> known = found_.dims;
  known.insert(proposal.dims.begin(), proposal.dims.end());
  for (const DeclaredInput& input : found_.inputs) {
    if (IsFloating(input.dtype) || input.dims.size() != 2 || Has(input.name, "mask")) continue;
    const auto whole = proposal.inputs.find(input.name);
    if (whole != proposal.inputs.end()) return whole->second.back();
    return input.dims[1].size ? input.dims[1].size : EvaluateDim(input.dims[1].symbol, known);
  }
  return std::nullopt;
}

Dims Proposer::WholeShape(const DeclaredInput& input, const Lengths& lengths) const {
  const int64_t batch = bindings_.batch.value_or(1);
  if (!input.has_rank) {
    return IsFloating(input.dtype) ? Dims{batch, 3, lengths.pixels, lengths.pixels} : Dims{batch, lengths.whole};
  }
  Dims dims;
  for (size_t i = 0; i < input.dims.size(); ++i) {
    const DeclaredDim& dim = input.dims[i];
    const bool image = IsFloating(input.dtype) && input.dims.size() > 3;
    const std::optional<int64_t> known = dim.size ? dim.size : EvaluateDim(dim.symbol, found_.dims);
    dims.push_back(known ? *known : i == 0 ? batch : image ? lengths.pixels : lengths.whole);
  }
  return dims;
}

Bindings Proposer::Proposal(const Lengths& lengths, Mask mask) const {
  Bindings proposal = bindings_;
  std::vector<std::string> masks;
  int64_t past = past_.empty() ? 0 : lengths.past;
  for (const std::string& symbol : past_) {
    if (const auto given = found_.dims.find(symbol); given != found_.dims.end()) past = given->second;
  }
  for (const OpenDim& open : found_.open) {
    if (open.symbol.empty()) {
      proposal.inputs.emplace(found_.inputs[open.input].name, WholeShape(found_.inputs[open.input], lengths));
      continue;
    }
    const Meaning meaning = MeaningOf(open);
    const auto taken = taken_.find(open.symbol);
    if (meaning == Meaning::kMask) masks.push_back(open.symbol);
    if (taken != taken_.end() || meaning != Meaning::kMask) {
      proposal.dims[open.symbol] = taken != taken_.end()         ? taken->second
                                   : meaning == Meaning::kPast   ? past
                                   : meaning == Meaning::kPixels ? lengths.pixels
                                   : past > 0                    ? lengths.now
                                                                 : lengths.whole;
    }
  }
  const int64_t now = NewTokens(proposal).value_or(lengths.now);
  for (const std::string& symbol : masks) {
    const int64_t size = mask == Mask::kWhole ? past + now : mask == Mask::kNow ? now : past;
    proposal.dims.emplace(symbol, size);
  }
  return proposal;
}

}  // namespace

absl::StatusOr<std::vector<Bindings>> ProposeSizes(const onnx::ModelProto& model, const Bindings& bindings) {
  ASSIGN_OR_RETURN(OpenInputs found, FindOpenInputs(model.graph(), bindings));
  constexpr size_t kMostOpen = 32;  // of more nobody copies the options, and a file may name thousands
  if (found.open.empty() || found.open.size() > kMostOpen) return std::vector<Bindings>();
  return Proposer(model, bindings, std::move(found)).Run();
}

std::string OptionsText(const Bindings& bindings, const Bindings& more) {
  std::vector<std::string> options;
  for (const auto& [symbol, size] : more.dims) {
    if (bindings.dims.count(symbol) == 0) options.push_back("--dim " + ShellWord(absl::StrCat(symbol, "=", size)));
  }
  for (const auto& [name, dims] : more.inputs) {
    if (bindings.inputs.count(name) > 0) continue;
    options.push_back("--input " + ShellWord(absl::StrCat(name, "=", absl::StrJoin(dims, "x"))));
  }
  return absl::StrJoin(options, " ");
}

}  // namespace onnx_mem
