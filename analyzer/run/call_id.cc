#include "analyzer/run/call_id.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "analyzer/graph/absl_view.h"

namespace onnx_mem {

namespace {

// Of "addmm" and "add.Tensor": "aten.addmm.default" and "aten.add.Tensor".
std::string FullName(std::string_view op) {
  const auto dots = std::count(op.begin(), op.end(), '.');
  if (dots > 1) return std::string(op);
  return absl::StrCat("aten.", View(op), dots == 0 ? ".default" : "");
}

}  // namespace

std::string TextOf(const CallId& call) {
  return absl::StrCat(call.module, call.module.empty() ? "" : ":", call.op, "#", call.nth);
}

std::string TextOf(const KeptCall& kept) {
  if (kept.outputs.empty()) return TextOf(kept.call);
  const auto number = [](std::string* text, int8_t output) { absl::StrAppend(text, static_cast<int>(output)); };
  return absl::StrCat(TextOf(kept.call), "[", absl::StrJoin(kept.outputs, ",", number), "]");
}

std::optional<CallId> ParseCallId(std::string_view text) {
  const std::string_view name = text.substr(0, text.rfind('#'));
  const size_t colon = name.rfind(':');
  CallId call;
  if (name.size() < text.size()) {
    if (!absl::SimpleAtoi(View(text.substr(name.size() + 1)), &call.nth) || call.nth < 0) return std::nullopt;
  } else if (colon == std::string_view::npos) {
    return std::nullopt;
  }
  if (colon != std::string_view::npos) call.module = name.substr(0, colon);
  const std::string_view op = colon == std::string_view::npos ? name : name.substr(colon + 1);
  if (op.empty() || colon == 0) return std::nullopt;
  call.op = FullName(op);
  return call;
}

std::optional<KeptCall> ParseKeptCall(std::string_view text) {
  KeptCall kept;
  const size_t bracket = text.ends_with(']') ? text.rfind('[') : std::string_view::npos;
  if (bracket != std::string_view::npos) {
    const std::string_view list = text.substr(bracket + 1, text.size() - bracket - 2);
    for (const std::string& item : std::vector<std::string>(absl::StrSplit(View(list), ','))) {
      int number = 0;
      if (!absl::SimpleAtoi(item, &number) || number < 0 || number > std::numeric_limits<int8_t>::max())
        return std::nullopt;
      kept.outputs.push_back(static_cast<int8_t>(number));
    }
    text = text.substr(0, bracket);
  }
  std::optional<CallId> call = ParseCallId(text);
  if (!call) return std::nullopt;
  kept.call = *std::move(call);
  return kept;
}

}  // namespace onnx_mem
