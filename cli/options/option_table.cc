#include "cli/options/option_table.h"

#include <array>
#include <deque>
#include <type_traits>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "analyzer/eager/optimizer/optimizer.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"
#include "cli/options/layout_values.h"
#include "cli/options/option_choices.h"
#include "cli/options/option_values.h"
#include "planner/measure/plan.h"
#include "report/parts/formats.h"

namespace onnx_mem {
namespace {

constexpr auto kOptionRows = std::to_array<OptionRow>({
#define ONNX_MEM_OPTION(field, short_name, long_name, value, group, commands, help, setter, ...) \
  {short_name, long_name, value, OptionGroup::group, commands, help, setter, {field}},
#define ONNX_MEM_QUESTION(type, member, initial) "Question", #type, #member, #initial
#define ONNX_MEM_PLANNING(type, member, initial) "PlanOptions", #type, #member, #initial
#define ONNX_MEM_LISTING(type, member, initial) "Listing", #type, #member, #initial
#include "include/onnx_mem/question.inc"
});

// A text as each kind of value.
absl::StatusOr<Given> Parsed(std::string_view, std::type_identity<Given>) { return Given(); }
absl::StatusOr<std::string_view> Parsed(std::string_view text, std::type_identity<std::string_view>) { return text; }
absl::StatusOr<Count> Parsed(std::string_view text, std::type_identity<Count>) {
  ASSIGN_OR_RETURN(const int64_t number, ParseCount(text));
  return Count{number};
}
absl::StatusOr<ByteSize> Parsed(std::string_view text, std::type_identity<ByteSize>) {
  ASSIGN_OR_RETURN(const int64_t bytes, ParseSize(text));
  return ByteSize{bytes};
}
absl::StatusOr<SizeOrShare> Parsed(std::string_view text, std::type_identity<SizeOrShare>) {
  SizeOrShare budget;
  if (text.find('%') != std::string_view::npos) {
    ASSIGN_OR_RETURN(budget.percent, ParseShare(text));
    return budget;
  }
  ASSIGN_OR_RETURN(budget.bytes, ParseBytes(text));
  budget.no_size = ParseSize(text).status();
  return budget;
}
absl::StatusOr<Seconds> Parsed(std::string_view text, std::type_identity<Seconds>) {
  ASSIGN_OR_RETURN(const double number, ParseSeconds(text));
  return Seconds{number};
}
absl::StatusOr<Percent> Parsed(std::string_view text, std::type_identity<Percent>) {
  ASSIGN_OR_RETURN(const double number, ParsePercent(text));
  return Percent{number};
}
absl::StatusOr<Batches> Parsed(std::string_view text, std::type_identity<Batches>) { return ParseBatches(text); }
absl::StatusOr<DimBinding> Parsed(std::string_view text, std::type_identity<DimBinding>) {
  return ParseDimBinding(text);
}
absl::StatusOr<ShapeBinding> Parsed(std::string_view text, std::type_identity<ShapeBinding>) {
  return ParseInputShape(text);
}

}  // namespace

absl::Status OptionRow::Apply(std::string_view text, Options& options) const {
  return std::visit(
      [&]<class Kind>(SetterOf<Kind> set) -> absl::Status {
        ASSIGN_OR_RETURN(Kind parsed, Parsed(text, std::type_identity<Kind>()));
        return set(std::move(parsed), options);
      },
      setter.set);
}

absl::Span<const OptionRow> OptionRows() {
  struct Named {
    std::remove_const_t<decltype(kOptionRows)> rows = kOptionRows;
    std::deque<std::string> values;  // that rows name
    Named() {
      for (OptionRow& row : rows) {
        if (row.setter.names != nullptr) row.value = values.emplace_back(absl::StrJoin(row.setter.names(), "|"));
      }
    }
  };
  static const Named& named = *new Named();
  return named.rows;
}

const OptionRow* OptionNamed(std::string_view name) {
  for (const OptionRow& row : OptionRows()) {
    if (!name.empty() && (name == row.long_name || name == row.short_name)) return &row;
  }
  return nullptr;
}

std::string_view DisplayName(const OptionRow& row) { return row.long_name.empty() ? row.short_name : row.long_name; }

absl::Status WithName(const absl::Status& status, const OptionRow& row) {
  if (status.ok()) return status;
  const Diagnostic diagnostic = DiagnosticOf(status);
  return ErrorStatus(status.code(), diagnostic.code, absl::StrFormat("%s: %s", DisplayName(row), diagnostic.message),
                     diagnostic.details);
}

std::string_view TitleOf(OptionGroup group) {
  switch (group) {
    case OptionGroup::kWorkload: return "Workload";
    case OptionGroup::kPlan: return "Plan";
    case OptionGroup::kFramework: return "What the file does not tell";
    case OptionGroup::kParallel: return "Several cards";
    case OptionGroup::kDevice: return "Device";
    case OptionGroup::kOutput: return "Output";
    case OptionGroup::kGeneral: return "General";
  }
  return "";
}

std::vector<std::string> ChoicesOf(const OptionRow& row) {
  if (row.value.find('|') == std::string_view::npos) return {};
  std::vector<std::string> choices;
  for (size_t begin = 0; begin <= row.value.size();) {
    const size_t end = std::min(row.value.find('|', begin), row.value.size());
    const std::string_view word = row.value.substr(begin, end - begin);
    // A word all in capitals stands for anything; "MiB" and "B" are words to type.
    const bool placeholder = word == "P" || word == "P[:REGEX]" || word == "REGEX" || word == "SIZE" || word == "P%" ||
                             word == "RANK" || word == "RANKS";
    if (!placeholder) choices.emplace_back(word);
    begin = end + 1;
  }
  return choices;
}

std::vector<std::string> OfferedFor(const OptionRow& row) {
  return row.setter.words != nullptr ? row.setter.words() : ChoicesOf(row);
}

}  // namespace onnx_mem
