// The program onnx-mem: arguments -> Options -> a command's CommandAnswer -> standard output, standard error, exit
// code.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "analyzer/run/work.h"
#include "cli/commands/commands.h"
#include "cli/commands/help.h"
#include "cli/error_text.h"
#include "cli/heap.h"
#include "cli/host/terminal.h"
#include "cli/options/options.h"
#include "cli/pasted_command.h"
#include "cli/progress.h"
#include "report/parts/formats.h"
#include "report/parts/printable.h"

namespace onnx_mem {
namespace {

std::string ShownText(const Diagnostic& diagnostic, const Options& options) {
  return ErrorText(WithCommands(diagnostic, options), WidthOfStandardError());
}

int Fail(const absl::Status& status, const Options& options) {
  const Diagnostic error = ErrorOf(status);
  if (options.format == "json") std::fputs(ErrorJson(error, options.command).c_str(), stdout);
  std::fputs(ShownText(error, options).c_str(), stderr);
  return static_cast<int>(ExitCodeOf(status));
}

Filter FilterFor(const CommandAnswer& answer, const Options& options) {
  const bool colored = options.format == "table" && answer.text.find("\x1b[0m") != std::string::npos &&
                       ScreenOfStandardOutput(options.color, options.units).color;
  return colored ? Filter::kColored : options.emit.empty() ? FormatNamed(options.format)->filter : Filter::kData;
}

int Finish(const CommandAnswer& answer, const Options& options) {
  for (const Diagnostic& warning : answer.warnings) {
    if (!options.quiet && options.format != "json") std::fputs(ShownText(warning, options).c_str(), stderr);
  }
  const std::string text = Printable(answer.text, FilterFor(answer, options));
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  // EPIPE: a reader that has seen enough, as head does.
  if ((written && std::fflush(stdout) == 0) || errno == EPIPE) {
    return static_cast<int>(answer.yes ? ExitCode::kYes : ExitCode::kNo);
  }
  return Fail(ErrorStatus(absl::StatusCode::kUnavailable, Code::kWriteFailed,
                          absl::StrFormat("cannot write to standard output: %s", std::strerror(errno))),
              Options());
}

absl::StatusOr<CommandAnswer> RunWithProgress(const CommandRow& command, const Options& options) {
  const bool shown = !options.quiet && StandardErrorShowsProgress();
  const std::string_view hint = command.bit == kPlanCommand ? " (Ctrl-C ends the search with the best so far)" : "";
  const Progress progress(shown ? stderr : nullptr, absl::StrFormat("onnx-mem %s%s:", command.name, hint));
  const work::Counting counting;
  return command.run(options);
}

int Main(const std::vector<std::string>& arguments) {
  if (arguments.empty()) {
    std::fputs(ShortHelp().c_str(), stderr);
    return static_cast<int>(ExitCode::kCannot);
  }
  const auto [options, status] = ParseOptions(arguments);
  if (!status.ok()) return Fail(status, options);
  if (options.short_help) return Finish({ShortHelp()}, options);
  const CommandRow& command = *CommandNamed(options.command);
  if (options.long_help) return Finish({options.format == "json" ? HelpJson() : LongHelp(command)}, options);
  if (options.version) return Finish({VersionText()}, options);
  if (options.exit_codes_help) return Finish({ExitCodesHelp()}, options);
  // Nobody takes it apart: the program ends with it. Of a large graph that is a twentieth of the run.
  const absl::StatusOr<CommandAnswer>& answer = *new absl::StatusOr<CommandAnswer>(RunWithProgress(command, options));
  return answer.ok() ? Finish(*answer, options) : Fail(answer.status(), options);
}

}  // namespace
}  // namespace onnx_mem

// Nothing that is thrown gets out: what a file can cause is an error that says so.
int Guarded(const std::vector<std::string>& arguments) {
  try {
    return onnx_mem::Main(arguments);
  } catch (const std::bad_alloc&) {
    std::fputs("onnx-mem: error: not enough memory for this model [too-large]\n", stderr);
    return static_cast<int>(onnx_mem::ExitCode::kCannot);
  } catch (const std::length_error&) {  // a size beyond any container
    std::fputs("onnx-mem: error: sizes in the file are beyond what can be held [too-large]\n", stderr);
    return static_cast<int>(onnx_mem::ExitCode::kCannot);
  } catch (const std::exception& error) {
    const absl::Status status = absl::InternalError(error.what());
    std::fputs(onnx_mem::ErrorText(onnx_mem::ErrorOf(status)).c_str(), stderr);
    return static_cast<int>(onnx_mem::ExitCodeOf(status));
  }
}

int main(int argc, char** argv) {
  onnx_mem::KeepFreedMemory();
#ifdef SIGXFSZ
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may grow no further is an error of writing, which is reported
#endif
  const int code = Guarded({argv + 1, argv + argc});
  std::fflush(nullptr);
  std::_Exit(code);  // taking ONNX's operator schemas apart again is a twentieth of the whole run, for nothing
}
