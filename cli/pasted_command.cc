#include "cli/pasted_command.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/graph/suggest.h"

namespace onnx_mem {
namespace {

// The user's command line with `more` behind it, but before a "--" that ends all options.
std::string CommandLine(const std::vector<std::string>& arguments, std::string_view more) {
  std::string line = "onnx-mem";
  const auto end = std::find(arguments.begin(), arguments.end(), "--");
  for (auto word = arguments.begin(); word != end; ++word) line += " " + ShellWord(*word);
  line.append(" ").append(more);
  for (auto word = end; word != arguments.end(); ++word) line += " " + ShellWord(*word);
  return line;
}

}  // namespace

Diagnostic WithCommands(Diagnostic diagnostic, const Options& options) {
  const std::string model = options.operands.empty() ? "" : options.operands.front();
  constexpr std::string_view kMore = "try: ... ", kCommand = "try: onnx-mem ", kRemark = "   # ", kModel = " MODEL";
  for (std::string& line : diagnostic.details) {
    if (line.starts_with(kMore)) {
      const size_t remark = std::min(line.find(kRemark), line.size());
      const std::string_view more = std::string_view(line).substr(kMore.size(), remark - kMore.size());
      line = "try: " + CommandLine(options.arguments, more) + line.substr(remark);
    } else if (line.starts_with(kCommand) && !model.empty()) {
      const size_t at = line.find(kModel);
      const size_t end = at + kModel.size();
      const bool whole_word = at != std::string::npos && (end == line.size() || line[end] == ' ');
      if (whole_word) line.replace(at + 1, kModel.size() - 1, ShellWord(model));
    }
  }
  return diagnostic;
}

}  // namespace onnx_mem
