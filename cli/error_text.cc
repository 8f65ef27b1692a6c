#include "cli/error_text.h"

#include <dirent.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "analyzer/graph/suggest.h"
#include "cli/commands/help.h"
#include "report/analyze/report.h"
#include "report/parts/json_writer.h"
#include "report/parts/layout.h"
#include "report/parts/printable.h"

namespace onnx_mem {
namespace {

bool IsBug(const absl::Status& status) {
  return status.code() == absl::StatusCode::kInternal || DiagnosticOf(status).code == Code::kInternal;
}

// One line of a message: names in it come from files and command lines.
std::string Line(std::string_view text) {
  std::string line = Printable(text);
  std::replace(line.begin(), line.end(), '\n', '?');
  return line;
}

// The first name in quotes: the path of a not-found message.
std::string Quoted(const std::string& message) {
  const size_t begin = message.find('\'');
  const size_t end = message.find('\'', begin + 1);
  return begin == std::string::npos || end == std::string::npos ? "" : message.substr(begin + 1, end - begin - 1);
}

std::vector<std::string> FilesIn(const std::string& directory) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(directory.c_str()), &closedir);
  if (!open) return names;
  for (const dirent* entry = readdir(open.get()); entry; entry = readdir(open.get())) names.emplace_back(entry->d_name);
  std::sort(names.begin(), names.end());
  return names;
}

std::string NearbyFile(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  const std::string name = path.substr(directory.size());
  const std::vector<std::string> near = Suggest(name, FilesIn(directory.empty() ? "." : directory), 1);
  return near.empty() ? "" : "did you mean: " + directory + near.front();
}

// A command that a shell takes as one over several lines, each of at most `width` columns where options allow it. A
// remark stays behind the last.
std::string Continued(const std::string& command, size_t width) {
  constexpr std::string_view kEnd = " \\", kNext = "\n    ";
  const size_t end = std::min(command.find("   # "), command.size());
  std::string text = "  ";
  size_t column = 2;
  for (size_t at = 0; at < end;) {
    const size_t next = std::min(command.find(" -", at + 1), end);
    const size_t length = next - at;
    if (at > 0 && column + length + kEnd.size() > width) {
      text.append(kEnd).append(kNext);
      column = 4;
      ++at;  // the space
    }
    text += command.substr(at, next - at);
    column += next - at;
    at = next;
  }
  const std::string remark = command.substr(end);
  return column + remark.size() > width && !remark.empty() ? text + "\n     " + remark.substr(2) : text + remark;
}

}  // namespace

std::string ErrorText(const Diagnostic& diagnostic, size_t width) {
  const std::string_view severity = NameOf(diagnostic.severity);
  const std::string head =
      absl::StrFormat("onnx-mem: %s: %s [%s]", severity, Line(diagnostic.message), CodeOf(diagnostic));
  std::string text = (width == 0 ? head : Wrapped(head, width, 0, 2)) + "\n";
  for (const std::string& line : diagnostic.details) {
    const bool pasted = absl::StartsWith(line, "try: ");
    text += (width == 0 ? "  " + Line(line) : pasted ? Continued(Line(line), width) : Wrapped(Line(line), width, 2, 4));
    text += "\n";
  }
  return text;
}

size_t WidthOfStandardError() {
  constexpr size_t kNarrowestWorthWrapping = 40;
  winsize size = {};
  size_t width = 0;
  if (isatty(STDERR_FILENO) == 1 && ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0) width = size.ws_col;
  if (const char* columns = std::getenv("COLUMNS"); width == 0 && columns != nullptr) {
    std::from_chars(columns, columns + std::strlen(columns), width);
  }
  return width >= kNarrowestWorthWrapping ? width : 0;
}

std::string ErrorJson(const Diagnostic& diagnostic, std::string_view command) {
  JsonWriter json;
  json.BeginObject();
  json.Key("schema").String("onnx-mem/1");
  json.Key("command").String(command);
  json.Key("error").BeginObject();
  json.Key("code").String(CodeOf(diagnostic));
  json.Key("message").String(diagnostic.message);
  json.Key("details").BeginArray();
  for (const std::string& line : diagnostic.details) json.String(line);
  json.EndArray().EndObject().EndObject();
  return json.Take() + "\n";
}

Diagnostic ErrorOf(const absl::Status& status) {
  Diagnostic diagnostic = DiagnosticOf(status);
  if (IsBug(status)) {
    diagnostic.code = Code::kInternal;
    diagnostic.details.push_back("why: this is a bug of onnx-mem, not of your model");
    diagnostic.details.push_back(absl::StrFormat(
        "way out: report it with the model (weights removed), the command line and version %s", kVersion));
  }
  const auto suggests = [](const std::string& line) { return line.find("did you mean") != std::string::npos; };
  if (diagnostic.code == Code::kNotFound &&
      std::none_of(diagnostic.details.begin(), diagnostic.details.end(), suggests)) {
    if (std::string hint = NearbyFile(Quoted(diagnostic.message)); !hint.empty()) diagnostic.details.push_back(hint);
  }
  return diagnostic;
}

ExitCode ExitCodeOf(const absl::Status& status) { return IsBug(status) ? ExitCode::kBug : ExitCode::kCannot; }

}  // namespace onnx_mem
