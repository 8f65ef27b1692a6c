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
  absl::string_view file;
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
    TraceRow row{at, 0, lines.second, head.substr(kFile.size(), line - kFile.size())};
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

// multiply = MultiplyFunction.apply, called in a function of another name than forward, of which a trace has no row:
// the frame that no module's call accounts for. Frames of modules that the exporter lost are known by the framework's
// own file, by a module that is made where it is called, nn.ReLU()(x), and by what any of their lines reads
// (of_module).
std::optional<FunctionCall> UnnamedFunction(absl::string_view trace, const std::vector<TraceRow>& rows, size_t calls) {
  const TraceRow &frame = rows[calls + 1], &caller = rows[calls];
  if (absl::StrContains(frame.file, "torch/nn/") || absl::StrContains(caller.text, ")(")) return std::nullopt;
  const size_t folder = frame.file.rfind('/');
  return FunctionCall{std::string(folder == absl::string_view::npos ? frame.file : frame.file.substr(folder + 1)),
                      std::string(trace.substr(0, frame.begin)), frame.line, true,
                      absl::StrContains(frame.text, "self")};
}

}  // namespace

std::optional<FunctionCall> CalledFunction(const FrameworkNode& node) {
  if (node.source_trace == nullptr) return std::nullopt;
  const std::string of_modules = TraceHas(node, kRunsSegment) ? TraceOfModules(*node.source_trace) : std::string();
  const absl::string_view trace = of_modules.empty() ? *node.source_trace : of_modules;
  const std::vector<TraceRow> rows = ReadRows(trace);
  // Frames without a call: of Functions, and of modules whose forward() was called directly.
  size_t without_call = rows.size() - std::min(rows.size(), node.calls.size() + 1);
  const bool any = without_call > 0;
  bool named = false;
  size_t called = 0;  // rows[called] is the frame of the outermost Function
  for (size_t i = rows.size(); i-- > 1 && without_call > 0;) {
    const absl::string_view caller = rows[i - 1].text;
    const bool is_function = !AppliedName(caller).empty();
    if (!is_function && !absl::StrContains(caller, ".forward(")) continue;
    --without_call;
    named = true;
    if (is_function) called = i;
  }
  if (any && !named) return UnnamedFunction(trace, rows, node.calls.size());
  if (called == 0) return std::nullopt;
  return FunctionCall{AppliedName(rows[called - 1].text), std::string(trace.substr(0, rows[called].begin)),
                      rows[called].line, false, false};
}

}  // namespace onnx_mem
