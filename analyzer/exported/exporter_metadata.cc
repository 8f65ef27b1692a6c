#include "analyzer/exported/exporter_metadata.h"

#include <vector>

#include "absl/strings/str_split.h"

namespace onnx_mem {
namespace {

constexpr std::string_view kNameScopes = "pkg.torch.onnx.name_scopes";

const std::string& TextOf(const Node& node, std::string_view key) {
  static const std::string kNone;
  const auto text = node.metadata.find(key);
  return text == node.metadata.end() ? kNone : text->second;
}

}  // namespace

const std::string& FxTextOf(const Node& node) { return TextOf(node, kFxNode); }

FxCall FxCallOf(const Node& node) {
  const std::string& text = FxTextOf(node);
  return text.empty() ? FxCall() : ParseFxCall(text);
}

std::string_view CallingModuleOf(const Node& node) {
  // ['', 'layer1', 'layer1.0', 'conv1_1']: quotes stand between names, the last of which is the call's.
  const std::vector<absl::string_view> parts = absl::StrSplit(TextOf(node, kNameScopes), '\'');
  if (parts.size() < 4) return {};
  const absl::string_view module = parts[parts.size() - 4];
  return {module.data(), module.size()};
}

}  // namespace onnx_mem
