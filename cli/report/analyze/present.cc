#include "cli/report/analyze/present.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_format.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"
#include "cli/report/parts/formats.h"
#include "cli/report/parts/screen.h"

namespace onnx_mem {
namespace {

absl::Status WriteFailed(const std::string& path, int error) {
  const std::string why = error == ENOENT ? "no such directory" : std::strerror(error);
  return ErrorStatus(absl::StatusCode::kInvalidArgument, "write-failed",
                     absl::StrFormat("cannot write '%s': %s", path, why));
}

absl::Status WriteFile(const std::string& path, const std::string& text) {
  FILE* file = std::fopen(path.c_str(), "wb");
  if (!file) return WriteFailed(path, errno);
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const int error = errno;
  if (std::fclose(file) != 0) return WriteFailed(path, errno);
  return written ? absl::OkStatus() : WriteFailed(path, error);
}

}  // namespace

std::string ShownAs(const FormatRow& format, const Report& report, const Screen& screen) {
  if (!std::holds_alternative<FitPart>(report.part) || format.name != "table") return format.render(report, screen);
  Report without_notes = report;
  without_notes.notes.clear();
  return format.render(without_notes, screen);
}

std::string Present(const Report& report, const Options& options) {
  if (options.quiet) return RenderQuiet(report);
  return ShownAs(*FormatNamed(options.format), report, ScreenOfStandardOutput(options.color, options.units));
}

bool DrawsSteps(const Options& options) {
  if (FormatNamed(options.format)->every_step && !options.quiet) return true;
  return std::any_of(options.exports.begin(), options.exports.end(),
                     [](const Export& file) { return FormatNamed(file.format)->every_step; });
}

absl::Status WriteExports(const Report& report, const Options& options) {
  for (const Export& file : options.exports) {
    // A file looks the same wherever it is written.
    const Screen screen{kWidest, /*color=*/false, /*utf8=*/true, options.units};
    RETURN_IF_ERROR(WriteFile(file.path, FormatNamed(file.format)->render(report, screen)));
  }
  return absl::OkStatus();
}

}  // namespace onnx_mem
