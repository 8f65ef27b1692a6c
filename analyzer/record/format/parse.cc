#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/record/format/budget.h"
#include "analyzer/record/format/cursor.h"
#include "analyzer/record/format/program_reader.h"
#include "analyzer/record/format/text.h"
#include "analyzer/run/limits.h"

namespace onnx_mem::record {
namespace {

bool IsPrecision(std::string_view name) {
  return name == "bf16" || name == "fp16" || name == "amp-bf16" || name == "amp-fp16";
}

constexpr std::string_view kFirstWord = "eager ";
constexpr std::string_view kFirstLine = "eager 1";

class Reader {
 public:
  explicit Reader(int64_t stored_bytes) : budget_(stored_bytes) {}

  absl::StatusOr<Record> Read(std::string_view text) {
    int64_t number = 0;
    for (size_t begin = 0; begin < text.size(); ++number) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      const absl::string_view stripped = absl::StripAsciiWhitespace(ViewOf(text.substr(begin, end - begin)));
      begin = end + 1;
      Cursor c({stripped.data(), stripped.size()}, number + 1);
      ReadLine(c);
      RETURN_IF_ERROR(c.error());
      RETURN_IF_ERROR(budget_.Check(c.number(), program_ ? program_->depth() : 0));
    }
    Cursor end("", number + 1);
    if (program_) program_->Close(end);
    const bool both = record_.first_call.has_value() == record_.later_call.has_value();
    const bool forward = record_.eval || record_.train;
    if (end.error().ok() && (!both || forward == record_.later_call.has_value())) {
      end.Fail("a program, or a step's first and later call");
    }
    RETURN_IF_ERROR(end.error());
    return std::move(record_);
  }

 private:
  void ReadLine(Cursor& c) {
    if (c.number() == 1) {
      if (c.rest() != kFirstLine) c.Fail("'eager 1' (a record of a newer version?)");
    } else if (c.rest().empty()) {
      return;
    } else if (c.Take("torch ")) {
      record_.torch_version = c.TakeRest();
    } else if (c.Take("free S ")) {
      ReadFree(c);
    } else if (c.Take("batches ")) {
      ReadBatches(c);
    } else if (c.Take("program ")) {
      StartProgram(c);
    } else if (c.Take("step ")) {
      StartStep(c);
    } else if (step_ != nullptr) {
      ReadStep(c);
    } else if (!program_) {
      c.Fail("'program'");
    } else {
      program_->ReadLine(c);
    }
  }

  // "free S seq 128 step 8 seen 64 128", before the programs.
  void ReadFree(Cursor& c) {
    if (program_ || step_ != nullptr || record_.free) c.Fail("one free size, before the programs");
    FreeSize free;
    free.name = c.Word(" ");
    c.Expect(" ");
    free.length = ReadLength(c);
    c.Expect(" step ");
    free.step = ReadLength(c);
    c.Expect(" seen ");
    free.first = ReadLength(c);
    c.Expect(" ");
    free.last = ReadLength(c);
    if (!c.done()) c.Fail("the end of the line");
    record_.free = std::move(free);
  }

  // "batches 1 16", or "batches 17" for all from there on, before the programs.
  void ReadBatches(Cursor& c) {
    if (program_ || step_ != nullptr || std::exchange(has_batches_, true))
      c.Fail("one range of batches, before the programs");
    record_.batches.first = ReadLength(c);
    if (c.Take(" ")) record_.batches.last = ReadLength(c);
    if (!c.done() || record_.batches.last < record_.batches.first) c.Fail("the first batch and the last");
  }

  static int64_t ReadLength(Cursor& c) {
    int64_t length = 0;
    if (!absl::SimpleAtoi(ViewOf(c.Word(" ")), &length) || length < 1 || length > kMostLength) {
      c.Fail("a length");
    }
    return length;
  }

  // "step first 1234" or "step later 1234": the call, and how many parameters there are.
  void StartStep(Cursor& c) {
    const bool first = c.Take("first ");
    if (!first) c.Expect("later ");
    std::optional<CountedStep>& slot = first ? record_.first_call : record_.later_call;
    if (slot || program_) c.Fail("'first' or 'later', each once");
    step_ = &slot.emplace();
    step_->parameters = ReadInteger(c, int64_t{1} << 50, "how many parameters");
    budget_.StartProgram();
  }

  // "op PHASE NAME [MODULE]" or "live CATEGORY BYTES BEGIN END [MODULE or - [NAME]]", behind all operators; "cpu" for
  // "live" where it is on the CPU.
  void ReadStep(Cursor& c) {
    if (c.Take("op ") && step_->storages.empty()) {
      CountedStep::Operator& op = step_->operators.emplace_back();
      for (std::string* word : {&op.phase, &op.name}) *word = NextWord(c);
      op.module = c.TakeRest();
      if (op.name.empty()) c.Fail("a phase and an operator");
      budget_.Count(Line{.name = op.name + op.module});
      return;
    }
    const bool on_cpu = c.Take("cpu ");
    if (!on_cpu) c.Expect("live ");
    CountedStep::Storage& storage = step_->storages.emplace_back();
    storage.on_cpu = on_cpu;
    storage.category = NextWord(c);
    storage.bytes = c.ReadSize(" ");
    c.Expect(" ");
    const auto steps = static_cast<int64_t>(step_->operators.size());
    storage.begin = static_cast<int32_t>(ReadInteger(c, steps - 1, "an operator"));
    c.Expect(" ");
    storage.end = static_cast<int32_t>(ReadInteger(c, steps, "an operator"));
    if (storage.end <= storage.begin) c.Fail("an end behind the beginning");
    c.Take(" ");
    if (!c.done()) storage.module = c.ReadName();
    c.Take(" ");
    if (storage.module == "-") storage.module.clear();
    storage.name = c.TakeRest();
    budget_.CountBytes(sizeof(storage) + storage.module.size() + storage.name.size());
  }

  // "" at the end of the line.
  static std::string NextWord(Cursor& c) {
    if (c.done()) return "";
    std::string word(c.Word(" "));
    c.Take(" ");
    return word;
  }

  static int64_t ReadInteger(Cursor& c, int64_t most, std::string_view what) {
    int64_t number = 0;
    if (!absl::SimpleAtoi(ViewOf(c.Word(" ")), &number) || number < 0 || number > most) c.Fail(what);
    return number;
  }

  void StartProgram(Cursor& c) {
    if (step_ != nullptr) c.Fail("no program beside a step");
    if (program_) program_->Close(c);
    const std::string_view all = c.TakeRest();
    const size_t mode_ends = std::min(all.find(' '), all.size());
    std::optional<Program>* slot = SlotOf(all.substr(0, mode_ends), all.substr(mode_ends));
    if (slot == nullptr || slot->has_value()) {
      c.Fail("'eval' or 'train', a precision or none, 'at 1' or none, each once");
      return;
    }
    program_.emplace(slot->emplace(), budget_);
    budget_.StartProgram();
  }

  // `rest`: "" or " bf16", then "" or " at 1".
  std::optional<Program>* SlotOf(std::string_view mode, std::string_view rest) {
    if (mode != "eval" && mode != "train") return nullptr;
    constexpr std::string_view kAlone = " at 1";
    const bool alone = rest.ends_with(kAlone);
    if (alone) rest.remove_suffix(kAlone.size());
    if (rest.empty() && !alone) return mode == "eval" ? &record_.eval : &record_.train;
    if (!rest.empty()) {
      if (!rest.starts_with(' ') || !IsPrecision(rest.substr(1))) return nullptr;
      rest.remove_prefix(1);
    }
    const int64_t batch = alone ? 1 : 0;
    auto found = std::find_if(record_.variants.begin(), record_.variants.end(), [&](const Variant& variant) {
      return variant.precision == rest && variant.batch == batch;
    });
    if (found == record_.variants.end()) {
      record_.variants.push_back({.precision = std::string(rest), .batch = batch});
      found = record_.variants.end() - 1;
    }
    return mode == "eval" ? &found->eval : &found->train;
  }

  Record record_;
  std::optional<ProgramReader> program_;  // that is read
  CountedStep* step_ = nullptr;           // that is read
  bool has_batches_ = false;
  Budget budget_;
};

}  // namespace

bool LooksLikeRecord(std::string_view head) { return absl::StartsWith(ViewOf(head), ViewOf(kFirstWord)); }

absl::StatusOr<Record> ParseRecord(std::string_view text, std::optional<int64_t> stored_bytes) {
  return Reader(stored_bytes.value_or(static_cast<int64_t>(text.size()))).Read(text);
}

}  // namespace onnx_mem::record
