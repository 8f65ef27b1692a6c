#include "analyzer/devices/gpus.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "analyzer/devices/csv_line.h"
#include "analyzer/devices/gpu_data.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/suggest.h"

namespace onnx_mem {
namespace {

template <class T>
std::optional<T> Number(const std::string& text) {
  double value = 0;
  if (!absl::SimpleAtod(text, &value)) return std::nullopt;
  return static_cast<T>(value);
}

Gpu ParseRow(const std::vector<std::string>& field) {
  Gpu gpu;
  gpu.name = field[0];
  gpu.aliases = absl::StrSplit(field[1], ';', absl::SkipEmpty());
  gpu.vendor = field[2];
  gpu.architecture = field[3];
  gpu.compute_capability = field[4];
  gpu.memory_mib = Number<int64_t>(field[5]).value_or(0);
  gpu.memory_kind = field[6];
  gpu.usable_mib = Number<int64_t>(field[7]);
  gpu.bandwidth_gbps = Number<double>(field[8]);
  gpu.fp32_tflops = Number<double>(field[9]);
  gpu.tf32_tflops = Number<double>(field[10]);
  gpu.fp16_tflops = Number<double>(field[11]);
  gpu.bf16_tflops = Number<double>(field[12]);
  gpu.source = field[13];
  return gpu;
}

std::vector<Gpu> ParseAll() {
  constexpr size_t kColumns = 14;
  std::vector<Gpu> gpus;
  bool header = true;
  for (absl::string_view line : absl::StrSplit(kGpuData, '\n', absl::SkipEmpty())) {
    if (header) {
      header = false;
      continue;
    }
    const std::vector<std::string> fields = SplitCsvLine(std::string_view(line.data(), line.size()));
    if (fields.size() == kColumns) gpus.push_back(ParseRow(fields));
  }
  return gpus;
}

// "NVIDIA GeForce RTX 4090" and "rtx-4090" are the same card.
std::string Normalized(std::string_view name) {
  std::string text;
  for (char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      text.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
    }
  }
  for (std::string_view prefix : {"nvidia", "geforce", "tesla"}) {
    if (text.starts_with(prefix) && text.size() > prefix.size()) text.erase(0, prefix.size());
  }
  return text;
}

bool IsCalled(const Gpu& gpu, const std::string& normalized) {
  if (Normalized(gpu.name) == normalized) return true;
  return std::any_of(gpu.aliases.begin(), gpu.aliases.end(),
                     [&](const std::string& alias) { return Normalized(alias) == normalized; });
}

absl::Status UnknownGpu(std::string_view name) {
  std::vector<std::string> known;
  std::map<std::string, std::string> display;
  for (const Gpu& gpu : Gpus()) {
    known.push_back(Normalized(gpu.name));
    display.emplace(known.back(), gpu.name);
  }
  std::vector<std::string> near = Suggest(Normalized(name), known);
  for (std::string& suggestion : near) suggestion = display[suggestion];
  std::vector<std::string> details;
  if (!near.empty()) details.push_back(absl::StrCat("did you mean: ", absl::StrJoin(near, ", "), "?"));
  details.push_back("try: --gpu-memory 24GiB   (list: onnx-mem gpus)");
  return ErrorStatus(absl::StatusCode::kNotFound, "unknown-gpu",
                     absl::StrCat("unknown GPU '", absl::string_view(name.data(), name.size()), "'"), details);
}

absl::Status AmbiguousGpu(std::string_view name, const std::vector<const Gpu*>& matches) {
  std::vector<std::string> names;
  for (const Gpu* gpu : matches) names.push_back(absl::StrCat("\"", gpu->name, "\" (", gpu->memory_mib, " MiB)"));
  return ErrorStatus(absl::StatusCode::kInvalidArgument, "ambiguous-gpu",
                     absl::StrCat("'", absl::string_view(name.data(), name.size()), "' names cards of different size"),
                     {absl::StrCat("try: --gpu with one of ", absl::StrJoin(names, ", "))});
}

// nvidia-smi's total less what a program sees, in MiB, where no reading exists; fitted to readings on Linux.
int64_t UsualGapMib(const Gpu& gpu) {
  if (gpu.memory_mib >= 80000) return 900;
  if (gpu.memory_mib >= 40000) return gpu.memory_mib * 13 / 1000;
  if (gpu.architecture == "Pascal") return 110;
  if (gpu.architecture == "Ada") return 380;
  if (gpu.architecture == "Blackwell") return 470;
  return 260;
}

}  // namespace

const std::vector<Gpu>& Gpus() {
  static const std::vector<Gpu>& gpus = *new std::vector<Gpu>(ParseAll());
  return gpus;
}

absl::StatusOr<Gpu> FindGpu(std::string_view name) {
  const std::string wanted = Normalized(name);
  std::vector<const Gpu*> matches;
  for (const Gpu& gpu : Gpus()) {
    if (IsCalled(gpu, wanted)) matches.push_back(&gpu);
  }
  if (matches.empty()) return UnknownGpu(name);
  const bool same_size = std::all_of(matches.begin(), matches.end(),
                                     [&](const Gpu* gpu) { return gpu->memory_mib == matches[0]->memory_mib; });
  if (!same_size) return AmbiguousGpu(name, matches);
  return *matches[0];
}

int64_t UsableBytes(const Gpu& gpu) {
  const int64_t mib = gpu.usable_mib.value_or(gpu.memory_mib - UsualGapMib(gpu));
  return mib << 20;
}

}  // namespace onnx_mem
