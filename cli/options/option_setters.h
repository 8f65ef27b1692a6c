// What an option of question.inc does with its value. A value has one of a few kinds; a text is parsed into its kind,
// the library's members have theirs already, and one setter takes both to the member that they are for.
//
//   Number<1>(AT(workload.run.accumulate))      a number of at least 1
//   OneOf<kLosses>(AT(workload.run.loss))       what a list of choices names
//   Each(AddLora, AT(workload.run.lora))        may be given several times; AddLora takes one of them
#ifndef ONNX_MEM_CLI_OPTIONS_OPTION_SETTERS_H_
#define ONNX_MEM_CLI_OPTIONS_OPTION_SETTERS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "analyzer/graph/shape.h"
#include "analyzer/graph/status_macros.h"
#include "cli/options/option_values.h"
#include "cli/options/options.h"

namespace onnx_mem {

// The kinds of values, but for std::string_view.
struct Given {};  // of a flag
struct Count {
  int64_t number = 0;
};
struct ByteSize {
  int64_t bytes = 0;
};
// A size or a share of what is taken now. Of a step graph it is a number in the graph's own units: that a number
// without a unit is no size is known when all options are.
struct SizeOrShare {
  std::optional<int64_t> bytes;
  std::optional<double> percent;
  absl::Status no_size;
};
struct Seconds {
  double number = 0;
};
struct Percent {
  double number = 0;
};
using Batches = std::vector<int64_t>;
using DimBinding = std::pair<std::string, int64_t>;
using ShapeBinding = std::pair<std::string, Dims>;

template <class Kind>
using SetterOf = absl::Status (*)(Kind value, Options& options);
using Setter = std::variant<SetterOf<Given>, SetterOf<std::string_view>, SetterOf<Count>, SetterOf<ByteSize>,
                            SetterOf<SizeOrShare>, SetterOf<Seconds>, SetterOf<Percent>, SetterOf<Batches>,
                            SetterOf<DimBinding>, SetterOf<ShapeBinding>>;
// Their names, in the order of Setter, for those who describe options to other programs.
inline constexpr std::string_view kKindNames[] = {"flag",    "text",    "count",   "size", "budget",
                                                  "seconds", "percent", "batches", "dim",  "shape"};
static_assert(std::size(kKindNames) == std::variant_size_v<Setter>);

struct OptionSetter {
  Setter set;
  bool repeatable = false;                        // else the last one given counts
  void (*clear)(Options& options) = nullptr;      // of repeatable ones: as if none had been given
  std::vector<std::string> (*names)() = nullptr;  // of another table's rows: the choices in place of the row's value
  std::vector<std::string> (*words)() = nullptr;  // that people mean, of all that it takes; for completions

  constexpr OptionSetter Named(std::vector<std::string> (*rows)()) const {
    OptionSetter named = *this;
    named.names = rows;
    return named;
  }
  constexpr OptionSetter Offering(std::vector<std::string> (*offered)()) const {
    OptionSetter offering = *this;
    offering.words = offered;
    return offering;
  }
};

// A member of Options, for what follows.
#define AT(member) [](Options& options) -> auto& { return options.member; }

template <class Kind>
constexpr OptionSetter Value(SetterOf<Kind> set) {
  return {set};
}

template <class Kind, class At>
constexpr OptionSetter Each(SetterOf<Kind> add, At) {
  return {add, true, [](Options& options) { At{}(options).clear(); }};
}

template <class At>
constexpr OptionSetter Flag(At) {
  return Value<Given>([](Given, Options& options) {
    At{}(options) = true;
    return absl::OkStatus();
  });
}

template <class At>
constexpr OptionSetter FlagOff(At) {
  return Value<Given>([](Given, Options& options) {
    At{}(options) = false;
    return absl::OkStatus();
  });
}

template <class At>
constexpr OptionSetter Text(At) {
  return Value<std::string_view>([](std::string_view text, Options& options) {
    At{}(options) = std::string(text);
    return absl::OkStatus();
  });
}

template <class At>
constexpr OptionSetter Texts(At at) {
  return Each<std::string_view>(
      [](std::string_view text, Options& options) {
        At{}(options).emplace_back(text);
        return absl::OkStatus();
      },
      at);
}

// Regular expressions.
template <class At>
constexpr OptionSetter Patterns(At at) {
  return Each<std::string_view>(
      [](std::string_view text, Options& options) {
        RETURN_IF_ERROR(CheckRegex(text));
        At{}(options).emplace_back(text);
        return absl::OkStatus();
      },
      at);
}

// `given`: members that say that the user has chosen.
template <const auto& choices, class At, class... AtGiven>
constexpr OptionSetter OneOf(At, AtGiven...) {
  return Value<std::string_view>([](std::string_view text, Options& options) {
    ((AtGiven{}(options) = true), ...);
    return Choose(text, choices, At{}(options));
  });
}

template <int64_t least, class At>
constexpr OptionSetter Number(At) {
  return Value<Count>([](Count count, Options& options) {
    if (count.number < least) return UsageError(absl::StrFormat("'%d' is less than %d", count.number, least));
    At{}(options) = count.number;
    return absl::OkStatus();
  });
}

// Bytes; no option takes less than none.
absl::Status CheckBytes(int64_t bytes);

template <class At>
constexpr OptionSetter Size(At) {
  return Value<ByteSize>([](ByteSize size, Options& options) {
    RETURN_IF_ERROR(CheckBytes(size.bytes));
    At{}(options) = size.bytes;
    return absl::OkStatus();
  });
}

// The setters of options whose values are more than that.
absl::Status SetBatches(Batches batches, Options& options);
absl::Status AddDim(DimBinding binding, Options& options);
absl::Status AddShortest(DimBinding binding, Options& options);
absl::Status AddInput(ShapeBinding binding, Options& options);
absl::Status SetOptimizer(std::string_view text, Options& options);
absl::Status AddSegment(std::string_view text, Options& options);
absl::Status AddGpus(std::string_view text, Options& options);
absl::Status SetInplace(std::string_view text, Options& options);
absl::Status SetDropout(std::string_view text, Options& options);
absl::Status AddLora(std::string_view text, Options& options);
absl::Status AddNoRewrite(std::string_view text, Options& options);
absl::Status SetTimeLimit(Seconds limit, Options& options);
absl::Status SetMaxSlowdown(Percent most, Options& options);
absl::Status SetMaxIncrease(Percent most, Options& options);
absl::Status SetHostMemory(ByteSize size, Options& options);
absl::Status SetBudget(SizeOrShare budget, Options& options);
absl::Status SetAllocator(std::string_view text, Options& options);
absl::Status SetMethod(std::string_view text, Options& options);
absl::Status SetBitsandbytes(std::string_view text, Options& options);
absl::Status SetTorch(std::string_view text, Options& options);
absl::Status SetFormat(std::string_view text, Options& options);
absl::Status AddExport(std::string_view text, Options& options);
absl::Status SetUnits(std::string_view text, Options& options);

// What they offer.
std::vector<std::string> AllocatorNames();
std::vector<std::string> CardWords();

}  // namespace onnx_mem

#endif  // ONNX_MEM_CLI_OPTIONS_OPTION_SETTERS_H_
