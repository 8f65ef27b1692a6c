#include "analyzer/exported/source_trace.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "analyzer/graph/absl_view.h"

namespace onnx_mem {
namespace {

constexpr absl::string_view kFrameStart = "File \"";
constexpr absl::string_view kContainers = "torch/nn/modules/container.py";

struct Frame {
  absl::string_view file;
  absl::string_view function;
  int64_t line = 0;
};

// `File "models/net.py", line 93, in forward`; false for any other line.
bool ParseFrame(absl::string_view text, Frame& frame) {
  constexpr absl::string_view kLine = "\", line ", kIn = ", in ";
  if (text.substr(0, kFrameStart.size()) != kFrameStart) return false;
  const size_t line = text.find(kLine);
  const size_t in = line == absl::string_view::npos ? line : text.find(kIn, line + kLine.size());
  if (in == absl::string_view::npos) return false;
  frame.file = text.substr(kFrameStart.size(), line - kFrameStart.size());
  frame.function = text.substr(in + kIn.size());
  return absl::SimpleAtoi(text.substr(line + kLine.size(), in - line - kLine.size()), &frame.line);
}

SourceLines ReadTrace(std::string_view trace, std::map<std::string, std::shared_ptr<const SourceLine>>& known) {
  SourceLines lines;
  const std::vector<absl::string_view> rows = absl::StrSplit(absl::string_view(trace.data(), trace.size()), '\n');
  for (size_t i = 0; i < rows.size(); ++i) {
    Frame frame, next;
    if (!ParseFrame(absl::StripAsciiWhitespace(rows[i]), frame) || frame.function != "forward") continue;
    absl::string_view text = i + 1 < rows.size() ? absl::StripAsciiWhitespace(rows[i + 1]) : absl::string_view();
    if (text.empty() || ParseFrame(text, next)) {
      lines.push_back(nullptr);
      continue;
    }
    std::shared_ptr<const SourceLine>& line = known[absl::StrCat(frame.file, "\n", frame.line, "\n", text)];
    if (line == nullptr) {
      const std::string_view plain(text.data(), text.size());
      line = std::make_shared<const SourceLine>(
          SourceLine{std::string(frame.file), frame.line, std::string(text), ParseStatement(plain)});
    }
    lines.push_back(line);
  }
  return lines;
}

}  // namespace

std::string TraceOfModules(std::string_view trace) {
  constexpr absl::string_view kCheckpoints = "torch/utils/checkpoint.py";
  const absl::string_view text = View(trace);
  if (!absl::StrContains(text, View(kRunsSegment))) return std::string(trace);
  const std::vector<absl::string_view> rows = absl::StrSplit(text, '\n');
  std::vector<absl::string_view> kept;
  for (size_t i = 0; i < rows.size(); ++i) {
    Frame frame;
    const bool runs_segment = i + 1 < rows.size() && absl::StrContains(rows[i + 1], View(kRunsSegment)) &&
                              ParseFrame(absl::StripAsciiWhitespace(rows[i]), frame) &&
                              absl::EndsWith(frame.file, kCheckpoints);
    if (runs_segment) {
      ++i;  // the line below belongs to it
    } else {
      kept.push_back(rows[i]);
    }
  }
  return absl::StrJoin(kept, "\n");
}

const SourceLines& SourceTraceReader::Read(const FrameworkNode& node) {
  static const SourceLines kNone;
  if (node.source_trace == nullptr) return kNone;
  auto it = traces_.find(*node.source_trace);
  if (it == traces_.end())
    it = traces_.emplace(*node.source_trace, ReadTrace(TraceOfModules(*node.source_trace), lines_)).first;
  return it->second.size() == node.calls.size() + 1 ? it->second : kNone;
}

std::string_view InnermostLineOf(const AnyNode& node) {
  if (node.source_trace == nullptr) return {};
  absl::string_view text = *node.source_trace;
  const size_t frame = text.rfind(kFrameStart);
  const size_t end = frame == absl::string_view::npos ? frame : text.find('\n', frame);
  if (end == absl::string_view::npos) return {};
  text.remove_prefix(end + 1);
  text = absl::StripAsciiWhitespace(text.substr(0, text.find('\n')));
  return {text.data(), text.size()};
}

size_t FindCall(std::string_view line, std::string_view name, size_t from) {
  const std::string call = absl::StrCat(absl::string_view(name.data(), name.size()), "(");
  for (size_t at = line.find(call, from); at != std::string_view::npos; at = line.find(call, at + 1)) {
    const auto before = static_cast<unsigned char>(at == 0 ? ' ' : line[at - 1]);
    const bool is_part = absl::ascii_isalnum(before) || before == '_';
    if (!is_part && !line.substr(0, at).ends_with("self.")) return at;
  }
  return std::string_view::npos;
}

bool TraceHas(const FrameworkNode& node, std::string_view text) {
  return node.source_trace != nullptr && node.source_trace->find(text) != std::string::npos;
}

void MoveCall(FrameworkNode& node, size_t kept, size_t depth) {
  if (node.source_trace == nullptr) return;
  std::string trace = TraceOfModules(*node.source_trace);
  std::vector<size_t> frames;
  for (size_t at = trace.find(kFrameStart.data()); at != std::string::npos; at = trace.find(kFrameStart.data(), at + 1))
    frames.push_back(at);
  if (frames.size() <= kept) return;
  const size_t end = kept + 1 < frames.size() ? frames[kept + 1] : trace.size();
  const absl::string_view line = absl::string_view(trace).substr(frames[kept], end - frames[kept]);
  const bool stays = absl::StrContains(line, kContainers);
  trace.resize(stays ? end : frames[kept]);
  for (size_t frame = kept + (stays ? 1 : 0); frame <= depth; ++frame) trace += "File \"\", line 0, in forward\n";
  node.source_trace = std::make_shared<const std::string>(std::move(trace));
}

bool IsContainersLoop(const SourceLine& line) { return absl::StrContains(line.file, kContainers); }

}  // namespace onnx_mem
