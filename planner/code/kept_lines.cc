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

constexpr size_t kLineWidth = 118;

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

// By module of the segment; the last is what lies between them, or is counted over the segment.
struct KeptByBlock {
  explicit KeptByBlock(const Segment& segment) : of(segment.modules.size() + 1) {
    for (const KeptCall& kept : segment.keep_calls) {
      size_t block = 0;
      while (block < segment.modules.size() && !IsOf(kept.call, segment.modules[block])) ++block;
      of[block].push_back(&kept);
    }
  }

  std::vector<std::vector<const KeptCall*>> of;
};

// Entries of a dict, without what their names begin with.
std::vector<std::string> ItemsOf(const std::vector<const KeptCall*>& kept, const std::string& without) {
  std::vector<std::string> items;
  for (const KeptCall* call : kept) {
    const auto number = [](std::string* text, int8_t output) { absl::StrAppend(text, static_cast<int>(output)); };
    items.push_back(absl::StrCat("\"", TextOf(call->call).substr(without.size()), "\": [",
                                 absl::StrJoin(call->outputs, ", ", number), "],"));
  }
  return items;
}

// The names of the blocks that keep `text`, as a Python sequence: (f"h.{i}" for i in (0, 1, 2)).
std::string BlocksText(const std::vector<std::string>& modules, const std::vector<std::string>& texts,
                       const std::string& text) {
  std::vector<std::string> names, parts;
  for (size_t i = 0; i < modules.size(); ++i) {
    if (texts[i] == text) names.push_back(modules[i]);
  }
  for (const NameGroup& group : GroupNames(names, std::vector<std::string>(names.size()))) {
    if (group.members.size() == names.size() && !group.numbers.empty()) {
      return absl::StrCat("(f\"", group.before, "{i}", group.after, "\" for i in (", absl::StrJoin(group.numbers, ", "),
                          "))");
    }
    for (size_t member : group.members) parts.push_back(absl::StrCat("\"", names[member], "\""));
  }
  return absl::StrCat("(", absl::StrJoin(parts, ", "), ")");
}

// Items of one block, for all of `blocks`.
void AsComprehension(const std::string& blocks, std::vector<std::string>& items) {
  items.insert(items.begin(),
               absl::StrCat("**{block + call: outputs for block in ", blocks, " for call, outputs in {"));
  items.back().back() = '}';
  items.back() += ".items()},";
}

// As many items as have room in each line.
std::string Lines(const std::vector<std::string>& items, size_t indent) {
  const std::string begin = absl::StrCat("\n", std::string(indent, ' '));
  std::string text;
  size_t column = kLineWidth;
  for (const std::string& item : items) {
    const bool fits = column + 1 + item.size() <= kLineWidth;
    absl::StrAppend(&text, fits ? " " : begin, item);
    column = (fits ? column + 1 : indent) + item.size();
  }
  return text;
}

}  // namespace

std::vector<KeptLine> KeptLinesOf(const Segment& segment) {
  if (segment.keep_calls.empty()) return {};
  const KeptByBlock kept(segment);
  std::vector<std::string> names = segment.modules, texts;
  for (size_t i = 0; i < names.size(); ++i) texts.push_back(CallsText(kept.of[i], names[i]));
  if (!kept.of.back().empty()) {
    names.emplace_back(segment.modules.size() > 1 ? "between them" : "");
    texts.push_back(CallsText(kept.of.back(), ""));
  }
  std::vector<KeptLine> lines;
  for (const NameGroup& group : GroupNames(names, texts))
    lines.push_back({TextOf(group), texts[group.members.front()]});
  return lines;
}

std::string KeptDictOf(const Segment& segment, size_t indent) {
  const KeptByBlock kept(segment);
  std::vector<std::string> texts;
  for (size_t i = 0; i < segment.modules.size(); ++i)
    texts.push_back(absl::StrJoin(ItemsOf(kept.of[i], segment.modules[i]), " "));
  std::vector<std::string> items;
  for (size_t i = 0; i < segment.modules.size(); ++i) {
    const bool known = std::find(texts.begin(), texts.begin() + static_cast<std::ptrdiff_t>(i), texts[i]) !=
                       texts.begin() + static_cast<std::ptrdiff_t>(i);
    if (known || kept.of[i].empty()) continue;
    const bool alone = std::count(texts.begin(), texts.end(), texts[i]) == 1;
    std::vector<std::string> own = ItemsOf(kept.of[i], alone ? "" : segment.modules[i]);
    if (!alone) AsComprehension(BlocksText(segment.modules, texts, texts[i]), own);
    items.insert(items.end(), own.begin(), own.end());
  }
  const std::vector<std::string> between = ItemsOf(kept.of.back(), "");
  items.insert(items.end(), between.begin(), between.end());
  return absl::StrCat("{", Lines(items, indent), "}");
}

}  // namespace onnx_mem
