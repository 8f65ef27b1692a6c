#include "cli/host/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace onnx_mem {
namespace {

std::string_view Environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? std::string_view(value) : std::string_view();
}

// An environment variable that is set to anything but 0.
bool IsSet(const char* name) {
  const std::string_view value = Environment(name);
  return !value.empty() && value != "0";
}

// The locale's own name tells; setlocale would make numbers depend on it.
bool LocaleIsUtf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view locale = Environment(name);
    if (locale.empty()) continue;
    const std::string text = absl::AsciiStrToLower(std::string(locale).c_str());
    return absl::StrContains(text, "utf-8") || absl::StrContains(text, "utf8");
  }
  return false;
}

size_t Width(bool terminal) {
  size_t width = 0;
  if (winsize size = {}; terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) width = size.ws_col;
  if (width == 0) {
    const std::string_view columns = Environment("COLUMNS");
    std::from_chars(columns.data(), columns.data() + columns.size(), width);
  }
  return width == 0 ? kWidest : std::clamp(width, kNarrowest, kWidest);
}

size_t Rows(bool terminal) {
  size_t rows = 0;
  if (winsize size = {}; terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) rows = size.ws_row;
  if (rows == 0) {
    const std::string_view lines = Environment("LINES");
    std::from_chars(lines.data(), lines.data() + lines.size(), rows);
  }
  return rows;
}

bool UseColor(ColorChoice choice, bool terminal) {
  if (choice != ColorChoice::kAuto) return choice == ColorChoice::kAlways;
  if (IsSet("CLICOLOR_FORCE") || IsSet("FORCE_COLOR")) return true;
  return terminal && Environment("NO_COLOR").empty() && Environment("TERM") != "dumb";
}

}  // namespace

Screen ScreenOfStandardOutput(ColorChoice color, ByteUnit units) {
  const bool terminal = isatty(STDOUT_FILENO) != 0;
  return {Width(terminal), UseColor(color, terminal), LocaleIsUtf8(), units, Rows(terminal)};
}

}  // namespace onnx_mem
