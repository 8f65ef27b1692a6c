#include "cli/answers/runtime_of_file.h"

#include <algorithm>

#include "absl/strings/str_format.h"

namespace onnx_mem {
namespace {

bool IsDeployed(const std::shared_ptr<const ModelFile>& file) {
  return file != nullptr && !file->WhyDeployed().empty();
}

}  // namespace

Options WithRuntimeOf(const Options& given, const Files& files) {
  Options options = given;
  const bool open = options.runtime == Runtime::kByFile && !options.mode_given && !options.allocator_given;
  if (!open || options.plan || std::none_of(files.begin(), files.end(), IsDeployed)) return options;
  RunInSessions(options);
  // onnxruntime has kernels of ai.onnx.ml for the CPU alone (core/providers/cpu/ml).
  const bool wants_card = options.device_given || !options.gpu.empty() || options.gpu_memory_bytes;
  const bool classical = std::all_of(files.begin(), files.end(), [](const std::shared_ptr<const ModelFile>& file) {
    return file != nullptr && file->IsOfClassicalLibrary();
  });
  if (classical && !wants_card) options.workload.device = Device::kCpu;
  return options;
}

std::optional<Diagnostic> RuntimeNote(const Options& given, const Options& used, const Files& files,
                                      const std::vector<std::string>& names) {
  if (used.runtime == given.runtime) return std::nullopt;
  const auto deployed = std::find_if(files.begin(), files.end(), IsDeployed);
  if (deployed == files.end()) return std::nullopt;
  const std::string& name = names[static_cast<size_t>(deployed - files.begin())];
  const std::string_view why = (*deployed)->WhyDeployed();
  Diagnostic note{.code = Code::kForOnnxruntime, .severity = Severity::kNote, .count = 1};
  note.message = files.size() == 1
                     ? absl::StrFormat("the file is %s: taken to run in onnxruntime", why)
                     : absl::StrFormat("'%s' is %s: all are taken to run in onnxruntime, to be compared", name, why);
  note.details = {"try: ... --for pytorch   # a training step and an inference in PyTorch"};
  return note;
}

absl::Status CheckTrainable(const ModelFile& file) {
  if (file.IsTrainable()) return absl::OkStatus();
  return ErrorStatus(absl::StatusCode::kFailedPrecondition, Code::kNothingTrained,
                     absl::StrFormat("the file is %s: there is no training step to plan for", file.WhyDeployed()),
                     {"why: checkpoints free what a training step saves for its backward",
                      "try: onnx-mem MODEL   # what an inference needs"});
}

}  // namespace onnx_mem
