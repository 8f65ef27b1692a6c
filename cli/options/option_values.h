// The text of an option's value -> the value. Every error is of code usage and says what was expected; the option's
// name is put in front by whoever knows it.
#ifndef ONNX_MEM_CLI_OPTIONS_OPTION_VALUES_H_
#define ONNX_MEM_CLI_OPTIONS_OPTION_VALUES_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "analyzer/graph/shape.h"
#include "analyzer/graph/suggest.h"
#include "cli/options/options.h"

namespace onnx_mem {

// For what takes one batch: the user's command with the first of several.
std::string TryOneBatch(const Options& options);

// A usage error: `message`, then lines of help.
absl::Status UsageError(std::string_view message, std::vector<std::string> details = {});

// "'foo' is not one of a, b, c", with a suggestion when one is near; `others` are further names of each choice.
absl::Status UnknownChoice(std::string_view text, const std::vector<std::string>& choices,
                           const std::vector<std::string>& others = {});

// The value of --inplace that `text` means where it is no pattern: "auto" of "Auto"; "" for a pattern.
std::string_view InPlaceWord(std::string_view text);

// A whole number.
absl::StatusOr<int64_t> ParseCount(std::string_view text);

// "64", "1,8,64" and "1..4" (every number from 1 to 4), in the order given without repetition; at most 1024 batches.
absl::StatusOr<std::vector<int64_t>> ParseBatches(std::string_view text);
// OK iff they make one question: each at least 1, and not too many.
absl::Status CheckBatches(const std::vector<int64_t>& batches);

// "layer1,layer2.0" -> its names without the spaces around them; none is empty.
absl::StatusOr<std::vector<std::string>> ParseNames(std::string_view text);

// "seq=512".
absl::StatusOr<std::pair<std::string, int64_t>> ParseDimBinding(std::string_view text);

// "x=1x3x224x224"; "x=scalar" for a scalar.
absl::StatusOr<std::pair<std::string, Dims>> ParseInputShape(std::string_view text);

// A size with its unit, which is B for bytes. A number alone is refused unless it is 0: "--budget 4" is 4 GiB to who
// writes it, and "--gpu-memory 24564" MiB.
absl::StatusOr<int64_t> ParseSize(std::string_view text);

// A probability in [0, 1).
absl::StatusOr<double> ParseProbability(std::string_view text);

// Seconds, not negative: "2", "0.5".
absl::StatusOr<double> ParseSeconds(std::string_view text);

// A percentage, not negative: "2%", "0.5 %", "2".
absl::StatusOr<double> ParsePercent(std::string_view text);

// "50%", "12.5 %": more than nothing. Error: no number, no sign at its end, or 0.
absl::StatusOr<double> ParseShare(std::string_view text);

// "report.md" (the format from the extension) or "csv=layers.txt".
absl::StatusOr<Export> ParseExport(std::string_view text);

// OK iff `text` is a valid regular expression (ECMAScript).
absl::Status CheckRegex(std::string_view text);

// One value of an option: its name, and other names that people know it by ("float16 half" of fp16), separated by
// spaces. Case, '-', '_' and '.' do not count in any of them.
template <class T>
struct Choice {
  std::string_view name;
  T value;
  std::string_view also = "";
};

// Sets `field` to the value that `choices` give for `text`.
template <class T, size_t n, class Field>
absl::Status Choose(std::string_view text, const std::array<Choice<T>, n>& choices, Field& field) {
  std::vector<std::string> names, others;
  for (const Choice<T>& choice : choices) {
    if (SameWord(text, choice.name) || HasWord(choice.also, text)) {
      field = Field(choice.value);
      return absl::OkStatus();
    }
    names.emplace_back(choice.name);
    others.emplace_back(choice.also);
  }
  return UnknownChoice(text, names, others);
}

}  // namespace onnx_mem

#endif  // ONNX_MEM_CLI_OPTIONS_OPTION_VALUES_H_
