// What a file does not say: one row for each lost fact. The interval of a peak (analysis/peak_bounds.h), what `check`
// says a finding moves, and the settings that a report lists are loops over these rows.
//
// A row's places are found where the choice is made: a diagnostic with the row's code says that the model has some, how
// many, and why it was taken so. Rows without a code are open in every file.
#ifndef ONNX_MEM_ANALYZER_ASSUME_TABLE_ASSUMPTIONS_H_
#define ONNX_MEM_ANALYZER_ASSUME_TABLE_ASSUMPTIONS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "analyzer/graph/lowered.h"
#include "analyzer/run/run.h"

namespace onnx_mem {

// Which way the peak moves when the fact is the other way. kEither is measured alone, and reported beside the
// diagnostic. kOnlyLess is no alternative where the peak is not lower with it alone, and what others lower holds
// without it, too.
enum class Towards : uint8_t { kEither, kLess, kMore, kOnlyLess };

// The fact the other way, by one of four hooks.
struct Alternative {
  std::string_view words = {};  // how a report names it: "with --tied yes"
  Towards towards = Towards::kEither;
  bool common = true;       // as likely as what was taken, rather than the most that may be
  bool convention = false;  // of whoever wrote the code, not a fact of the graph: nobody has all of them at their worst
  void (*run)(Run& run) = nullptr;                     // the run to lower anew
  bool (*lowered)(Lowered& lowered) = nullptr;         // what changes in the lowered model; false: nothing
  int64_t (*bytes)(const Lowered& lowered) = nullptr;  // less bytes then, at any time; negative: more
  int (*percent)(const Lowered& lowered) = nullptr;    // less of the peak then; negative: more
};

struct Assumption {
  std::string_view fact;          // "dropout"
  std::optional<Code> code = {};  // of the diagnostic that tells of it
  bool training = true;           // moves the peak of a training step
  bool inference = true;          // moves that of an inference
  bool forward_only = false;      // lowers no peak outside the forward
  std::span<const Alternative> alternatives = {};
  // False where the user or the model has settled it; nullptr: open where there is a diagnostic.
  bool (*open)(const Run& run, const Lowered& lowered) = nullptr;
};

std::span<const Assumption> Assumptions();

// The row of `code`; nullptr where it has none.
const Assumption* FindAssumption(Code code);

// The settings of `run` that stand for facts that a file does not say, by the names of their options, for training or
// an inference: ("inplace", "auto"), ("dropout", "0.1").
struct AssumedSetting {
  std::string_view option;
  bool training = true;
  bool inference = true;
  bool of_records = false;                         // a record leaves it open too
  std::string (*value)(const Run& run) = nullptr;  // "": not worth a word
};
std::span<const AssumedSetting> AssumedSettings();

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ASSUME_TABLE_ASSUMPTIONS_H_
