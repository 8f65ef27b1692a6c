#include "analyzer/exported/function_call.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "analyzer/exported/source_trace.h"

namespace onnx_mem {
namespace {

constexpr absl::string_view kFile = "File \"";

// A function called forward: `File "net.py", line 7, in forward`, and the line of its code below.
struct TraceRow {
  size_t begin = 0;  // in the trace
  int64_t line = 0;
  absl::string_view text;
};

std::vector<TraceRow> ReadRows(absl::string_view trace) {
  constexpr absl::string_view kLine = "\", line ", kForward = ", in forward";
  std::vector<TraceRow> rows;
  for (size_t at = trace.find(kFile); at != absl::string_view::npos; at = trace.find(kFile, at + 1)) {
    const absl::string_view frame = trace.substr(at, trace.find(kFile, at + 1) - at);
    const std::pair<absl::string_view, absl::string_view> lines = absl::StrSplit(frame, absl::MaxSplits('\n', 1));
    absl::string_view head = absl::StripAsciiWhitespace(lines.first);
    const size_t line = head.rfind(kLine);
    if (!absl::ConsumeSuffix(&head, kForward) || line == absl::string_view::npos) continue;
    TraceRow row{at, 0, lines.second};
    if (absl::SimpleAtoi(head.substr(line + kLine.size()), &row.line)) rows.push_back(row);
  }
  return rows;
}

// The name before `.apply(`, "" where there is none: "return x + ops.Swish.apply(x)" gives "ops.Swish".
std::string AppliedName(absl::string_view text) {
  constexpr absl::string_view kApply = ".apply(";
  const size_t end = text.find(kApply);
  if (end == absl::string_view::npos) return "";
  size_t begin = end;
  while (begin > 0 && (absl::ascii_isalnum(text[begin - 1]) || text[begin - 1] == '_' || text[begin - 1] == '.'))
    --begin;
  return std::string(text.substr(begin, end - begin));
}

}  // namespace

std::optional<FunctionCall> CalledFunction(const FrameworkNode& node) {
  if (!TraceHas(node, ".apply(")) return std::nullopt;
  const absl::string_view trace = *node.source_trace;
  const std::vector<TraceRow> rows = ReadRows(trace);
  // Frames without a call: of Functions, and of modules whose forward() was called directly.
  size_t without_call = rows.size() - std::min(rows.size(), node.calls.size() + 1);
  size_t called = 0;  // rows[called] is the frame of the outermost Function
  for (size_t i = rows.size(); i-- > 1 && without_call > 0;) {
    const absl::string_view caller = rows[i - 1].text;
    const bool is_function = !AppliedName(caller).empty();
    if (is_function || absl::StrContains(caller, ".forward(")) --without_call;
    if (is_function) called = i;
  }
  if (called == 0) return std::nullopt;
  return FunctionCall{AppliedName(rows[called - 1].text), std::string(trace.substr(0, rows[called].begin)),
                      rows[called].line};
}

}  // namespace onnx_mem
