#include "planner/code/kept_lines.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "planner/code/name_patterns.h"

namespace onnx_mem {
namespace {

// "aten._scaled_dot_product_efficient_attention.default" -> "efficient_attention".
std::string ShortOf(std::string_view op) {
  op = op.substr(op.find('.') + 1);
  op = op.substr(0, op.rfind('.'));
  for (std::string_view before : {"_scaled_dot_product_", "_"}) {
    if (op.starts_with(before)) return std::string(op.substr(before.size()));
  }
  return std::string(op);
}

// The path of `module` within `block`; nothing for the block itself.
std::string Within(const std::string& module, const std::string& block) {
  if (module == block) return "";
  return module.starts_with(block + ".") ? module.substr(block.size() + 1) : module;
}

bool IsOf(const CallId& call, const std::string& block) {
  return call.module == block || call.module.starts_with(block + ".");
}

// Calls of one operator in one module.
struct KeptGroup {
  std::string op;
  std::string within;
  std::vector<int32_t> nth;
};

std::string TextOf(const KeptGroup& calls) {
  const bool only = calls.nth == std::vector<int32_t>{0} && !calls.within.empty();
  return absl::StrCat(calls.op, calls.within.empty() ? "" : absl::StrCat("[", calls.within, "]"),
                      only ? "" : absl::StrCat("#", absl::StrJoin(calls.nth, ",")));
}

std::string CallsText(const std::vector<const KeptCall*>& kept, const std::string& block) {
  std::vector<KeptGroup> groups;
  for (const KeptCall* call : kept) {
    KeptGroup one{ShortOf(call->call.op), Within(call->call.module, block), {call->call.nth}};
    bool joined = false;
    for (KeptGroup& group : groups) {
      if (group.op != one.op || group.within != one.within) continue;
      group.nth.push_back(one.nth.front());
      joined = true;
    }
    if (!joined) groups.push_back(std::move(one));
  }
  if (groups.empty()) return "nothing";
  return absl::StrJoin(groups, " ",
                       [](std::string* text, const KeptGroup& calls) { absl::StrAppend(text, TextOf(calls)); });
}

}  // namespace

std::vector<std::vector<const KeptCall*>> ByBlock(const Segment& segment, const std::vector<KeptCall>& calls) {
  std::vector<std::vector<const KeptCall*>> of(segment.modules.size() + 1);
  for (const KeptCall& kept : calls) {
    size_t block = 0;
    while (block < segment.modules.size() && !IsOf(kept.call, segment.modules[block])) ++block;
    of[block].push_back(&kept);
  }
  return of;
}

std::vector<KeptLine> KeptLinesOf(const Segment& segment, const std::vector<KeptCall>& calls) {
  if (calls.empty()) return {};
  const std::vector<std::vector<const KeptCall*>> kept = ByBlock(segment, calls);
  std::vector<std::string> names = segment.modules, texts;
  for (size_t i = 0; i < names.size(); ++i) texts.push_back(CallsText(kept[i], names[i]));
  if (!kept.back().empty()) {
    names.emplace_back(segment.modules.size() > 1 ? "between them" : "");
    texts.push_back(CallsText(kept.back(), ""));
  }
  std::vector<KeptLine> lines;
  for (const NameGroup& group : GroupNames(names, texts))
    lines.push_back({TextOf(group), texts[group.members.front()]});
  return lines;
}

}  // namespace onnx_mem
