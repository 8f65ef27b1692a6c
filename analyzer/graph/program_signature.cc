#include "analyzer/graph/program_signature.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "analyzer/graph/absl_view.h"

namespace onnx_mem {
namespace {

// `p_conv1_weight: PARAMETER target='conv1.weight'` -> its entry; without a target for any other line.
SignatureEntry EntryOf(absl::string_view line) {
  SignatureEntry entry;
  const size_t colon = line.find(": ");
  constexpr absl::string_view kTarget = " target='";
  const size_t at = line.find(kTarget);
  if (colon == absl::string_view::npos || at == absl::string_view::npos || at < colon) return entry;
  const absl::string_view kind = line.substr(colon + 2, at - colon - 2);
  if (kind == "PARAMETER") {
    entry.kind = SignatureKind::kParameter;
  } else if (kind == "BUFFER") {
    entry.kind = SignatureKind::kBuffer;
  } else if (kind == "CONSTANT_TENSOR") {
    entry.kind = SignatureKind::kConstant;
  } else {
    return entry;
  }
  const absl::string_view rest = line.substr(at + kTarget.size());
  const size_t end = rest.find('\'');
  if (end == absl::string_view::npos) return entry;
  entry.placeholder = std::string(line.substr(0, colon));
  entry.target = std::string(rest.substr(0, end));
  entry.persistent = !absl::StrContains(rest.substr(end), "persistent=False");
  return entry;
}

// The text up to the bracket that closes the one before it.
absl::string_view InBrackets(absl::string_view text) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(' || text[i] == '[' || text[i] == '{') ++depth;
    if (text[i] == ')' || text[i] == ']' || text[i] == '}') {
      if (depth == 0) return text.substr(0, i);
      --depth;
    }
  }
  return text;
}

// Parts between commas that stand in no brackets; a value loses its %.
std::vector<std::string> Parts(absl::string_view text) {
  std::vector<std::string> parts;
  size_t begin = 0;
  int depth = 0;
  const auto end_part = [&](size_t end) {
    absl::string_view part = absl::StripAsciiWhitespace(text.substr(begin, end - begin));
    absl::ConsumePrefix(&part, "%");
    if (!part.empty()) parts.emplace_back(part);
    begin = end + 1;
  };
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(' || text[i] == '[' || text[i] == '{') ++depth;
    if (text[i] == ')' || text[i] == ']' || text[i] == '}') --depth;
    if (text[i] == ',' && depth == 0) end_part(i);
  }
  end_part(text.size());
  return parts;
}

absl::string_view After(absl::string_view text, absl::string_view mark) {
  const size_t at = text.find(mark);
  return at == absl::string_view::npos ? absl::string_view() : text.substr(at + mark.size());
}

}  // namespace

ProgramSignature ProgramSignature::Parse(std::string_view text) {
  ProgramSignature signature;
  for (absl::string_view line : absl::StrSplit(View(text), '\n')) {
    if (absl::StartsWith(line, "# outputs")) break;
    SignatureEntry entry = EntryOf(line);
    if (entry.target.empty()) continue;
    const size_t place = signature.entries_.size();
    if (!signature.by_placeholder_.emplace(entry.placeholder, place).second) continue;
    signature.by_target_.emplace(entry.target, place);
    signature.entries_.push_back(std::move(entry));
  }
  return signature;
}

const SignatureEntry* ProgramSignature::Find(const Index& index, std::string_view name) const {
  const auto it = index.find(name);
  return it == index.end() ? nullptr : &entries_[it->second];
}

std::vector<std::string> ArgumentsAndListed(const FxCall& call) {
  std::vector<std::string> arguments;
  for (const std::string& arg : call.args) {
    if (!absl::StartsWith(arg, "[")) {
      arguments.push_back(arg);
      continue;
    }
    for (std::string& listed : Parts(InBrackets(View(arg).substr(1)))) arguments.push_back(std::move(listed));
  }
  return arguments;
}

FxCall ParseFxCall(std::string_view text) {
  FxCall call;
  const absl::string_view view = View(text);
  const size_t colon = view.find(" : ");
  const absl::string_view target = After(view, "[target=");
  const absl::string_view args = After(target, "](args = (");
  if (!absl::StartsWith(view, "%") || colon == absl::string_view::npos || args.empty()) return call;
  call.name = std::string(view.substr(1, colon - 1));
  call.target = std::string(absl::StripPrefix(target.substr(0, target.find("](args = (")), "torch.ops."));
  const absl::string_view inside = InBrackets(args);
  call.args = Parts(inside);
  call.kwargs = Parts(InBrackets(After(args.substr(inside.size()), "kwargs = {")));
  return call;
}

}  // namespace onnx_mem
