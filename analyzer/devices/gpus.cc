#include "analyzer/devices/gpus.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "analyzer/devices/csv_line.h"
#include "analyzer/devices/gpu_data.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/graph/suggest.h"
#include "analyzer/graph/whole_file.h"

namespace onnx_mem {
namespace {

template <class T>
std::optional<T> Number(const std::string& text) {
  double value = 0;
  if (!absl::SimpleAtod(text, &value)) return std::nullopt;
  return static_cast<T>(value);
}

enum Holds : uint8_t { kText, kPositive, kCount };  // a count may be 0

struct ColumnRow {
  std::string_view name;
  Holds holds;
  void (*set)(const std::string& text, Gpu& gpu);
};

constexpr auto kColumns = std::to_array<ColumnRow>({
    {"name", kText, [](const std::string& text, Gpu& gpu) { gpu.name = text; }},
    {"aliases", kText,
     [](const std::string& text, Gpu& gpu) { gpu.aliases = absl::StrSplit(text, ';', absl::SkipEmpty()); }},
    {"vendor", kText, [](const std::string& text, Gpu& gpu) { gpu.vendor = text; }},
    {"architecture", kText, [](const std::string& text, Gpu& gpu) { gpu.architecture = text; }},
    {"compute_capability", kText, [](const std::string& text, Gpu& gpu) { gpu.compute_capability = text; }},
    {"sold_gb", kPositive, [](const std::string& text, Gpu& gpu) { gpu.sold_gb = Number<int64_t>(text); }},
    {"memory_mib", kPositive,
     [](const std::string& text, Gpu& gpu) { gpu.memory_mib = Number<int64_t>(text).value_or(0); }},
    {"memory_kind", kText, [](const std::string& text, Gpu& gpu) { gpu.memory_kind = text; }},
    {"usable_mib", kPositive, [](const std::string& text, Gpu& gpu) { gpu.usable_mib = Number<int64_t>(text); }},
    {"pcie_lanes", kCount, [](const std::string& text, Gpu& gpu) { gpu.pcie_lanes = Number<int64_t>(text); }},
    {"bandwidth_gbps", kPositive, [](const std::string& text, Gpu& gpu) { gpu.bandwidth_gbps = Number<double>(text); }},
    {"fp32_tflops", kPositive, [](const std::string& text, Gpu& gpu) { gpu.fp32_tflops = Number<double>(text); }},
    {"tf32_tensor_tflops", kPositive,
     [](const std::string& text, Gpu& gpu) { gpu.tf32_tflops = Number<double>(text); }},
    {"fp16_tensor_tflops", kPositive,
     [](const std::string& text, Gpu& gpu) { gpu.fp16_tflops = Number<double>(text); }},
    {"bf16_tensor_tflops", kPositive,
     [](const std::string& text, Gpu& gpu) { gpu.bf16_tflops = Number<double>(text); }},
    {"source", kText, [](const std::string& text, Gpu& gpu) { gpu.source = text; }},
});

absl::Status BadLine(const std::string& path, size_t line, std::string_view what) {
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kBadGpuFile,
                     absl::StrCat("'", path, "', line ", line, ": ", absl::string_view(what.data(), what.size())),
                     {absl::StrCat("columns: ", absl::StrJoin(kColumns, ",", [](std::string* out, const ColumnRow& c) {
                                     out->append(c.name);
                                   }))});
}

absl::StatusOr<std::vector<const ColumnRow*>> ColumnsOf(const std::vector<std::string>& header,
                                                        const std::string& path) {
  std::vector<const ColumnRow*> columns;
  for (const std::string& name : header) {
    const auto row = std::find_if(kColumns.begin(), kColumns.end(), [&](const ColumnRow& c) { return c.name == name; });
    if (row == kColumns.end()) return BadLine(path, 1, absl::StrCat("no such column: '", name, "'"));
    columns.push_back(&*row);
  }
  return columns;
}

absl::StatusOr<Gpu> ParseRow(const std::vector<const ColumnRow*>& columns, const std::vector<std::string>& fields,
                             const std::string& path, size_t line) {
  if (fields.size() != columns.size()) {
    return BadLine(path, line, absl::StrCat(fields.size(), " fields under ", columns.size(), " columns"));
  }
  constexpr double kMost = 0x1p40;  // an exbibyte of MiB: bytes of it are still a number
  Gpu gpu;
  for (size_t i = 0; i < fields.size(); ++i) {
    const Holds holds = columns[i]->holds;
    const double number = Number<double>(fields[i]).value_or(-1);
    const bool good = holds == kText || fields[i].empty() || number > 0 || (number == 0 && holds == kCount);
    if (!good) return BadLine(path, line, absl::StrCat("'", fields[i], "' is no size or rate"));
    if (number > kMost) {
      return BadLine(
          path, line,
          absl::StrCat(absl::string_view(columns[i]->name.data(), columns[i]->name.size()), " is beyond any card's"));
    }
    columns[i]->set(fields[i], gpu);
  }
  if (gpu.name.empty() || gpu.memory_mib <= 0) return BadLine(path, line, "a card needs a name and memory_mib");
  return gpu;
}

// The cards of the file that ONNX_MEM_GPUS names; none where it names none.
absl::StatusOr<std::vector<Gpu>> ReadUsersGpus() {
  const char* path = std::getenv("ONNX_MEM_GPUS");
  if (path == nullptr || *path == '\0') return std::vector<Gpu>();
  const absl::StatusOr<std::string> text = ReadWholeFile(path);
  if (!text.ok()) {
    return ErrorStatus(absl::StatusCode::kNotFound, DiagnosticOf(text.status()).code,
                       absl::StrCat("cannot read '", path, "', which ONNX_MEM_GPUS names"));
  }
  return ParseGpus(*text, path);
}

const absl::StatusOr<std::vector<Gpu>>& UsersGpus() {
  static const auto& gpus = *new absl::StatusOr<std::vector<Gpu>>(ReadUsersGpus());
  return gpus;
}

std::vector<Gpu> AllGpus() {
  std::vector<Gpu> gpus = UsersGpus().ok() ? *UsersGpus() : std::vector<Gpu>();
  std::vector<Gpu> known = ParseGpus(kGpuData, "gpus.csv").value();
  gpus.insert(gpus.end(), std::make_move_iterator(known.begin()), std::make_move_iterator(known.end()));
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

// `else_try`: what to try beside names that are near.
absl::Status UnknownGpu(std::string_view name, std::string_view else_try) {
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
  details.emplace_back(else_try);
  return ErrorStatus(absl::StatusCode::kNotFound, Code::kUnknownGpu,
                     absl::StrCat("unknown GPU '", absl::string_view(name.data(), name.size()), "'"), details);
}

absl::Status AmbiguousGpu(std::string_view name, const std::vector<const Gpu*>& matches) {
  std::vector<std::string> details;
  for (const Gpu* gpu : matches) {
    details.push_back(absl::StrCat("try: ... --gpu ", ShellWord(gpu->name), "   # ", gpu->memory_mib, " MiB"));
  }
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kAmbiguousGpu,
                     absl::StrCat("'", absl::string_view(name.data(), name.size()), "' names cards of different size"),
                     details);
}

// nvidia-smi's total less what a program sees, in MiB, where no reading exists; fitted to readings on Linux.
int64_t TypicalGapMib(const Gpu& gpu) {
  if (gpu.memory_mib >= 80000) return 900;
  if (gpu.memory_mib >= 40000) return gpu.memory_mib * 13 / 1000;
  if (gpu.architecture == "Pascal") return 110;
  if (gpu.architecture == "Ada") return 380;
  if (gpu.architecture == "Blackwell") return 470;
  return 260;
}

}  // namespace

absl::StatusOr<std::vector<Gpu>> ParseGpus(std::string_view text, const std::string& path) {
  std::vector<Gpu> gpus;
  std::vector<const ColumnRow*> columns;
  size_t number = 0;
  for (absl::string_view line : absl::StrSplit(absl::string_view(text.data(), text.size()), '\n')) {
    ++number;
    line = absl::StripTrailingAsciiWhitespace(line);
    if (line.empty() || line.front() == '#') continue;
    const std::vector<std::string> fields = SplitCsvLine(std::string_view(line.data(), line.size()));
    if (columns.empty()) {
      ASSIGN_OR_RETURN(columns, ColumnsOf(fields, path));
      continue;
    }
    ASSIGN_OR_RETURN(Gpu gpu, ParseRow(columns, fields, path, number));
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

absl::Status CheckUsersGpus() { return UsersGpus().status(); }

const std::vector<Gpu>& Gpus() {
  static const std::vector<Gpu>& gpus = *new std::vector<Gpu>(AllGpus());
  return gpus;
}

absl::StatusOr<Gpu> FindGpu(std::string_view name) {
  RETURN_IF_ERROR(CheckUsersGpus());
  const std::string wanted = Normalized(name);
  // A card of the user's own file is meant before one of the table.
  const std::vector<Gpu>& own = *UsersGpus();
  for (const Gpu& gpu : own) {
    if (IsCalled(gpu, wanted)) return gpu;
  }
  std::vector<const Gpu*> matches;
  for (const Gpu& gpu : Gpus()) {
    if (IsCalled(gpu, wanted)) matches.push_back(&gpu);
  }
  if (matches.empty()) return UnknownGpu(name, "try: ... --gpu-memory 24GiB   # onnx-mem gpus lists the cards");
  const bool same_size = std::all_of(matches.begin(), matches.end(),
                                     [&](const Gpu* gpu) { return gpu->memory_mib == matches[0]->memory_mib; });
  if (!same_size) return AmbiguousGpu(name, matches);
  return *matches[0];
}

std::vector<std::string> GpuWords() {
  std::vector<std::string> words;
  absl::flat_hash_set<std::string> seen;
  const auto add = [&](const std::string& name) {
    if (!seen.insert(Normalized(name)).second || !FindGpu(name).ok()) return;
    std::string_view spelled = name;  // as it is typed: without its maker and line
    for (std::string_view prefix : {"NVIDIA ", "GeForce ", "Tesla "}) {
      if (spelled.starts_with(prefix)) spelled.remove_prefix(prefix.size());
    }
    words.push_back(absl::StrReplaceAll(std::string(spelled), {{" ", "-"}}));
  };
  for (const Gpu& gpu : Gpus()) {
    add(gpu.name);
    for (const std::string& alias : gpu.aliases) add(alias);
  }
  return words;
}

absl::StatusOr<std::vector<Gpu>> GpusWith(std::string_view words) {
  RETURN_IF_ERROR(CheckUsersGpus());
  const std::string wanted = Normalized(words);
  const auto has = [&](const std::string& name) { return absl::StrContains(Normalized(name), wanted); };
  std::vector<Gpu> found;
  for (const Gpu& gpu : Gpus()) {
    if (has(gpu.name) || std::any_of(gpu.aliases.begin(), gpu.aliases.end(), has)) found.push_back(gpu);
  }
  if (found.empty()) return UnknownGpu(words, "try: onnx-mem gpus   # lists the cards");
  return found;
}

int64_t UsableBytes(const Gpu& gpu) {
  const int64_t mib = gpu.usable_mib.value_or(gpu.memory_mib - TypicalGapMib(gpu));
  return mib << 20;
}

}  // namespace onnx_mem
