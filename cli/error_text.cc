#include "cli/error_text.h"

#include <dirent.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
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

}  // namespace

std::string ErrorText(const Diagnostic& diagnostic, size_t width) {
  const std::string_view severity = NameOf(diagnostic.severity);
  const std::string head =
      absl::StrFormat("onnx-mem: %s: %s [%s]", severity, Line(diagnostic.message), CodeOf(diagnostic));
  std::string text = (width == 0 ? head : Wrapped(head, width, 0, 2)) + "\n";
  for (const std::string& line : diagnostic.details) {
    const bool prose = width > 0 && !absl::StartsWith(line, "try: ");
    text += (prose ? Wrapped(Line(line), width, 2, 4) : "  " + Line(line)) + "\n";
  }
  return text;
}

size_t WidthOfStandardError() {
  constexpr size_t kNarrowestWorthWrapping = 40;
  winsize size = {};
  const bool known = isatty(STDERR_FILENO) == 1 && ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0;
  return known && size.ws_col >= kNarrowestWorthWrapping ? size.ws_col : 0;
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
    diagnostic.details.push_back(
        absl::StrFormat("try: report it with the model (weights removed), the command line and version %s", kVersion));
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
