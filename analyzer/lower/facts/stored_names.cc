#include <algorithm>
#include <array>

#include "absl/strings/match.h"
#include "analyzer/graph/absl_view.h"
#include "analyzer/lower/facts/stored_tensors.h"

namespace onnx_mem {
namespace {

bool AllDigits(std::string_view s) {
  return !s.empty() && std::all_of(s.begin(), s.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Last parts of names that frameworks give to buffers: register_buffer in torch, torchvision, timm, transformers.
constexpr std::array<std::string_view, 24> kBufferNames = {
    "running_mean",
    "running_var",
    "num_batches_tracked",
    "position_ids",
    "token_type_ids",
    "inv_freq",
    "cos_cached",
    "sin_cached",
    "freqs_cis",
    "freqs",
    "attn_mask",
    "mask",
    "causal_mask",
    "masked_bias",
    "relative_position_index",
    "anchors",
    "anchor_grid",
    "pixel_mean",
    "pixel_std",
    "image_mean",
    "image_std",
    "pe",
    "relative_coords_table",
    "final_logits_bias",
};

// Modules that hold the tables of a rotary embedding, and nothing that is trained.
constexpr auto kRotaryModules = std::to_array<std::string_view>({"rope", "rotary_emb", "rotary_pos_emb"});

enum class Gives : uint8_t {
  kPlain,
  kView,        // all or a part of what it is given, as it is
  kConversion,  // the same in another type
  kMore,        // more elements than one of what it is given: joined, repeated, picked
  kTable,       // what parameters do not come from: frequencies, positions, tensors filled with a number
};

// ATen operators, and whether dynamo's exporter evaluates them when all that they read is stored. What they give is
// named after them, with a number from the second on: "unsqueeze", "unsqueeze_14". Parameters have the names that the
// model gave them.
struct NamedCall {
  std::string_view name;
  Gives gives;
  bool folded = true;
};
constexpr auto kNamedCalls = std::to_array<NamedCall>({
    {"_to_copy", Gives::kConversion},
    {"abs", Gives::kPlain},
    {"add", Gives::kPlain},
    {"arange", Gives::kTable},
    {"cat", Gives::kMore},
    {"clone", Gives::kConversion},
    {"convert_element_type", Gives::kPlain},
    {"cos", Gives::kTable},
    {"cumsum", Gives::kTable},
    {"div", Gives::kPlain},
    {"einsum", Gives::kMore},
    {"exp", Gives::kPlain},
    {"expand", Gives::kView},
    {"flip", Gives::kPlain},
    {"full", Gives::kTable},
    {"full_like", Gives::kTable},
    {"ge", Gives::kPlain},
    {"gt", Gives::kPlain},
    {"index", Gives::kMore},
    {"le", Gives::kPlain},
    {"lift_fresh_copy", Gives::kConversion, false},
    {"linspace", Gives::kTable},
    {"lt", Gives::kPlain},
    {"masked_fill", Gives::kPlain},
    {"mul", Gives::kPlain},
    {"neg", Gives::kPlain},
    {"new_ones", Gives::kTable},
    {"new_zeros", Gives::kTable},
    {"ones", Gives::kTable},
    {"ones_like", Gives::kTable},
    {"outer", Gives::kTable},
    {"permute", Gives::kPlain},
    {"pow", Gives::kTable},
    {"reciprocal", Gives::kPlain},
    {"repeat", Gives::kMore},
    {"reshape", Gives::kView},
    {"rsqrt", Gives::kPlain},
    {"rsub", Gives::kPlain},
    {"select", Gives::kView},
    {"sigmoid", Gives::kPlain},
    {"sin", Gives::kTable},
    {"slice", Gives::kView},
    {"slice_scatter", Gives::kPlain},
    {"softmax", Gives::kPlain},
    {"sqrt", Gives::kPlain},
    {"squeeze", Gives::kView},
    {"stack", Gives::kMore},
    {"sub", Gives::kPlain},
    {"sum", Gives::kPlain},
    {"t", Gives::kView},
    {"tmp", Gives::kPlain},
    {"to", Gives::kConversion, false},
    {"transpose", Gives::kView},
    {"tril", Gives::kPlain},
    {"triu", Gives::kPlain},
    {"type_as", Gives::kConversion, false},
    {"unsqueeze", Gives::kView},
    {"view", Gives::kView},
    {"where", Gives::kPlain},
    {"zeros", Gives::kTable},
    {"zeros_like", Gives::kTable},
});

// Null where the name is of no such call.
const NamedCall* RowOfName(std::string_view name) {
  const auto* row = std::find_if(kNamedCalls.begin(), kNamedCalls.end(),
                                 [call = CallInName(name)](const NamedCall& one) { return one.name == call; });
  return row != kNamedCalls.end() ? row : nullptr;
}

bool NameGives(std::string_view name, Gives what) {
  const NamedCall* row = RowOfName(name);
  return row != nullptr && row->gives == what;
}

}  // namespace

std::string_view CallInName(std::string_view name) {
  const size_t underscore = name.rfind('_');
  return underscore != std::string_view::npos && AllDigits(name.substr(underscore + 1)) ? name.substr(0, underscore)
                                                                                        : name;
}

bool IsFoldedOperand(std::string_view name, std::string_view op) {
  constexpr std::string_view kPrefix = "onnx::";
  if (!absl::StartsWith(View(name), View(kPrefix))) return false;
  name.remove_prefix(kPrefix.size());
  const size_t underscore = name.rfind('_');
  return underscore != std::string_view::npos && name.substr(0, underscore) == op;
}

std::string_view FoldedCall(std::string_view name) {
  const NamedCall* row = RowOfName(name);
  return row != nullptr && row->folded ? row->name : std::string_view();
}

bool NamesView(std::string_view name) { return NameGives(name, Gives::kView); }
bool NamesConversion(std::string_view name) { return NameGives(name, Gives::kConversion); }
bool NamesAlias(std::string_view name) { return NamesView(name) || CallInName(name) == "permute"; }
bool NamesMore(std::string_view name) { return NameGives(name, Gives::kMore); }
bool NamesNoLess(std::string_view name) {
  constexpr auto kLess = std::to_array<std::string_view>({"einsum", "index", "select", "slice", "sum"});
  const NamedCall* row = RowOfName(name);
  return row != nullptr && row->gives != Gives::kTable &&
         std::find(kLess.begin(), kLess.end(), row->name) == kLess.end();
}
bool NamesTable(std::string_view name) { return NameGives(name, Gives::kTable); }

bool IsResultName(std::string_view name) {
  return (absl::StartsWith(View(name), "val_") && AllDigits(name.substr(4))) || !FoldedCall(name).empty();
}

// torch/_export/passes/lift_constants_pass.py: tensors that the model keeps, but did not register. Of a parameter it
// reads the data anew at each place, so that no two are the same there.
bool IsLifted(std::string_view name) {
  return absl::StartsWith(View(name.substr(name.rfind('.') + 1)), "lifted_tensor_");
}

bool HasBufferName(std::string_view name) {
  const size_t dot = name.rfind('.');
  const std::string_view last = dot == std::string_view::npos ? name : name.substr(dot + 1);
  const std::string_view path = dot == std::string_view::npos ? std::string_view() : name.substr(0, dot);
  const std::string_view owner = path.substr(path.rfind('.') == std::string_view::npos ? 0 : path.rfind('.') + 1);
  if (std::find(kRotaryModules.begin(), kRotaryModules.end(), owner) != kRotaryModules.end()) return true;
  if (IsLifted(name)) return true;
  return std::find(kBufferNames.begin(), kBufferNames.end(), last) != kBufferNames.end() ||
         absl::EndsWith(View(last), "_mask");
}

}  // namespace onnx_mem
