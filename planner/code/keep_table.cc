#include "planner/code/keep_table.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "planner/code/kept_lines.h"
#include "planner/code/name_patterns.h"
#include "planner/code/python_text.h"

namespace onnx_mem {
namespace {

bool IsPlain(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-';
  });
}

// The table says what is kept in `block`, the first of whose names may be nothing: what lies between modules.
bool InTable(const std::string& block, const KeptCall& kept) {
  return !block.empty() && IsPlain(block) && IsPlain(kept.call.module) && IsPlain(kept.call.op);
}

// "aten.addmm.default" -> "addmm", "aten.add.Tensor" -> "add.Tensor".
std::string_view Spelled(std::string_view op) {
  constexpr std::string_view kNamespace = "aten.", kOverload = ".default";
  if (std::count(op.begin(), op.end(), '.') != 2 || !op.starts_with(kNamespace)) return op;
  op.remove_prefix(kNamespace.size());
  if (op.ends_with(kOverload)) op.remove_suffix(kOverload.size());
  return op;
}

std::string OutputsOf(const KeptCall& kept) {
  const auto number = [](std::string* text, int8_t output) { absl::StrAppend(text, static_cast<int>(output)); };
  return absl::StrCat("[", absl::StrJoin(kept.outputs, ",", number), "]");
}

// Calls that differ in their number alone are one word.
std::string WordsOf(const std::vector<const KeptCall*>& kept, const std::string& block) {
  struct Word {
    std::string before, outputs;
    std::vector<int32_t> nth;
  };
  std::vector<Word> words;
  for (const KeptCall* call : kept) {
    if (!InTable(block, *call)) continue;
    const std::string within = call->call.module == block ? "" : call->call.module.substr(block.size() + 1) + ":";
    Word one{absl::StrCat(within, std::string(Spelled(call->call.op))), OutputsOf(*call), {call->call.nth}};
    const auto same = std::find_if(words.begin(), words.end(), [&](const Word& word) {
      return word.before == one.before && word.outputs == one.outputs;
    });
    same == words.end() ? words.push_back(std::move(one)) : same->nth.push_back(one.nth.front());
  }
  return absl::StrJoin(words, " ", [](std::string* text, const Word& word) {
    absl::StrAppend(text, word.before);
    if (word.nth != std::vector<int32_t>{0}) absl::StrAppend(text, "#", absl::StrJoin(word.nth, ","));
    if (word.outputs != "[0]") absl::StrAppend(text, word.outputs);
  });
}

}  // namespace

std::vector<std::string> RowsOf(const CallTable& table, const std::vector<Segment>& segments) {
  std::vector<std::string> blocks, words;
  for (const Segment& segment : segments) {
    const auto kept = ByBlock(segment, segment.*table.calls);
    for (size_t i = 0; i < segment.modules.size(); ++i) {
      std::string text = WordsOf(kept[i], segment.modules[i]);
      if (text.empty()) continue;
      blocks.push_back(segment.modules[i]);
      words.push_back(std::move(text));
    }
  }
  const std::vector<NameGroup> groups = GroupNames(blocks, words);
  std::vector<bool> done(groups.size(), false);
  std::vector<std::string> rows;
  for (size_t i = 0; i < groups.size(); ++i) {
    if (done[i]) continue;
    const std::string& text = words[groups[i].members.front()];
    std::vector<std::string> names;
    for (size_t k = i; k < groups.size(); ++k) {
      if (words[groups[k].members.front()] != text) continue;
      names.push_back(TextOf(groups[k]));
      done[k] = true;
    }
    rows.push_back(absl::StrCat("\"", absl::StrJoin(names, " "), "\": \"", text, "\""));
  }
  return rows;
}

std::string CallsOf(const CallTable& table, const Segment& segment) {
  const std::string name(table.name);
  const auto kept = ByBlock(segment, segment.*table.calls);
  std::vector<std::string> items;
  for (size_t i = 0; i < kept.size(); ++i) {
    const std::string block = i < segment.modules.size() ? segment.modules[i] : "";
    for (const KeptCall* call : kept[i]) {
      if (!InTable(block, *call)) items.push_back(absl::StrCat(Quoted(TextOf(call->call)), ": ", OutputsOf(*call)));
    }
  }
  if (items.size() == (segment.*table.calls).size()) return absl::StrCat("{", absl::StrJoin(items, ", "), "}");
  return items.empty() ? name : absl::StrCat("{**", name, ", ", absl::StrJoin(items, ", "), "}");
}

std::string NamesOf(const std::vector<std::string>& modules) {
  const bool plain = std::all_of(modules.begin(), modules.end(), IsPlain);
  const std::vector<NameGroup> groups = GroupNames(modules, std::vector<std::string>(modules.size()));
  std::vector<size_t> order;
  for (const NameGroup& group : groups) order.insert(order.end(), group.members.begin(), group.members.end());
  if (!plain || !std::is_sorted(order.begin(), order.end())) return QuotedList(modules);
  std::vector<std::string> names;
  for (const NameGroup& group : groups) names.push_back(TextOf(group));
  return QuotedList(names);
}

}  // namespace onnx_mem
