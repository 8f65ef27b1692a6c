#include "analyzer/record/format/text.h"

#include <zlib.h>

#include <optional>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/record/format/decompress.h"
#include "gtest/gtest.h"

namespace onnx_mem::record {
namespace {

constexpr char kStart[] = "eager 1\ntorch 2.15.0\nprogram train\n%0 param fc.weight f32[4,8]\n%1 input x f32[B,8]\n";
constexpr char kTail[] = "return %3\ntree 1\n";

std::string WithLines(const std::string& lines) { return absl::StrCat(kStart, lines, kTail); }

constexpr char kLinear[] = "call fc\n  %2 f32[8,4]/[1,8] ^%0 = t %0\n  %3 f32[B,4] = mm %1 %2 drop %2\nret\n";

TEST(Text, GivesWhatItSays) {
  const absl::StatusOr<Record> record = ParseRecord(WithLines(kLinear));
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->torch_version, "2.15.0");
  ASSERT_TRUE(record->train);
  EXPECT_FALSE(record->eval);
  const Program& program = *record->train;
  ASSERT_EQ(program.values.size(), 4u);
  EXPECT_EQ(program.values[0].name, "fc.weight");
  EXPECT_EQ(program.values[2].type.root, 0);
  ASSERT_EQ(program.lines.size(), 4u);
  EXPECT_EQ(program.lines[2].name, "mm");
  EXPECT_EQ(program.lines[2].drops, std::vector<ValueNumber>{2});
  EXPECT_EQ(ToText(*record), WithLines(kLinear));
}

// A module may have any name without a dot: add_module("conv 1", ...).
TEST(Text, NamesMayHaveSpaces) {
  const std::string text = absl::StrReplaceAll(
      WithLines(kLinear), {{"%0 param fc.weight", "%0 param fc%20%251.weight"}, {"call fc", "call fc %1"}});
  const absl::StatusOr<Record> record = ParseRecord(text);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->train->values[0].name, "fc %1.weight");
  EXPECT_EQ(record->train->lines[0].name, "fc %1");
  EXPECT_EQ(ToText(*record), text);
}

TEST(Text, ReadsEveryKindOfArgument) {
  const std::string lines =
      "%3 f32[B,4]+2B:cpu, %4 b8[] = ns::op.overload %0 [%0,-,[1,2B+1]] -1 1e-06 -inf T F - f32 @cuda !strided \"a, "
      "\\\" b\" key=[1/2B] drop %4\n%3 = relu_ %3\n= _foreach_op [%0]\n";
  const absl::StatusOr<Record> record = ParseRecord(WithLines(lines));
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(ToText(*record), WithLines(lines));
}

TEST(Text, ComplexNumbersAreAsPythonWritesThem) {
  for (const char* number : {"2j", "-0j", "1e-05j", "-1.5+2j", "1e-05-2e+20j", "nan+infj"}) {
    const absl::StatusOr<Record> record =
        ParseRecord(WithLines(absl::StrCat("%3 c64[B] = mul.Tensor %0 ", number, "\n")));
    ASSERT_TRUE(record.ok()) << number << record.status();
  }
  for (const char* other : {"j", "efj", "1+j", "1--2j", "1e+j", "1+2", "2jj"}) {
    EXPECT_FALSE(ParseRecord(WithLines(absl::StrCat("%3 c64[B] = mul.Tensor %0 ", other, "\n"))).ok()) << other;
  }
}

TEST(Text, ReadsProgramsOfAPrecisionAndOfBatchOne) {
  const std::string more =
      "program train bf16\nreturn -\ntree 1\nprogram eval at 1\nreturn -\ntree 1\nprogram train at 1\nreturn -\ntree "
      "1\nprogram train bf16 at 1\nreturn -\ntree 1\n";
  const absl::StatusOr<Record> record = ParseRecord(WithLines(kLinear) + more);
  ASSERT_TRUE(record.ok()) << record.status();
  ASSERT_EQ(record->variants.size(), 3u);
  EXPECT_EQ(record->variants[1].batch, 1);
  EXPECT_EQ(ToText(*record), WithLines(kLinear) + more);
  for (const char* refused : {"train at 2", "train at 1 bf16", "train bf17 at 1", "train  at 1"}) {
    EXPECT_FALSE(ParseRecord(absl::StrCat("eager 1\nprogram ", refused, "\nreturn -\ntree 1\n")).ok()) << refused;
  }
}

TEST(Text, ReadsAStep) {
  const std::string start = "eager 1\ntorch 2.15.0\nbatches 2\n";
  const std::string first = "step first 32\nop forward mm fc\nlive parameters 128 0 1 - fc.weight\n";
  const std::string later =
      "step later 32\nop forward mm fc\nop optimizer _foreach_add_\nlive parameters 128 0 2 - fc.weight\n"
      "live transient_activations 16B+4 0 1 fc mm (train.py:3)\ncpu optimizer_state 4 0 2 - step\n";
  const absl::StatusOr<Record> record = ParseRecord(start + first + later);
  ASSERT_TRUE(record.ok()) << record.status();
  ASSERT_TRUE(record->later_call);
  EXPECT_EQ(record->later_call->parameters, 32);
  ASSERT_EQ(record->later_call->operators.size(), 2u);
  EXPECT_EQ(record->later_call->storages[1].name, "mm (train.py:3)");
  EXPECT_EQ(At(record->later_call->storages[1].bytes, {.batch = 2}), 36);
  EXPECT_FALSE(record->later_call->storages[1].on_cpu);
  EXPECT_TRUE(record->later_call->storages[2].on_cpu);
  EXPECT_EQ(ToText(*record), start + first + later);
  for (const std::string& refused :
       {start + first, start + later, start + first + first, start + first + later + "program eval\n",
        WithLines(kLinear) + first + later, start + first + later + "op forward mm\n",
        start + first + later + "live inputs 4 1 1\n", start + first + later + "live inputs 4 0 3\n",
        start + first + later + "live inputs 4 2 2\n", start + first + later + "live inputs four 0 1\n"}) {
    EXPECT_FALSE(ParseRecord(refused).ok()) << refused;
  }
}

TEST(Text, ReadsSpans) {
  const std::string lines =
      "grad off\n%2 f32[8] = zeros [8]\ngrad on\nleaf %2\ncheckpoint reentrant %1\n  %4 f32[B,8] = relu "
      "%1\nendcheckpoint\nfunction m.F\n  %3 f32[B,8] = mul.Tensor %4 2\nendfunction %4 held %1\nbackward %5 f32[B,8] "
      "of "
      "%3\n  %6 f32[B,8] = mul.Tensor %5 2\nendbackward %6 to %4, %5 to %1\n";
  const absl::StatusOr<Record> record = ParseRecord(WithLines(lines));
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(ToText(*record), WithLines(lines));
}

struct Refusal {
  const char* what;
  std::string text;
  const char* line;
};

TEST(Text, RefusesWhatItDoesNotKnow) {
  const Refusal refusals[] = {
      {"a newer version", "eager 2\nprogram train\n", "line 1 "},
      {"no program", "eager 1\ntorch 2\n", "line 3 "},
      {"no end", "eager 1\nprogram train\n", "line 3 "},
      {"another program", "eager 1\nprogram test\n", "line 2 "},
      {"a program twice", WithLines(kLinear) + "program train\n", "line 12 "},
      {"a value that is not there", WithLines("%3 f32[B] = relu %9\n"), "line 6 "},
      {"a value that is there", WithLines("%0 f32[B] = relu %1\n"), "line 6 "},
      {"a value far ahead", WithLines("%900000 f32[B] = relu %1\n"), "line 6 "},
      {"a number too large", WithLines("%99999999999 f32[B] = relu %1\n"), "line 6 "},
      {"a size too large", WithLines("%3 f32[99999999999999999999] = relu %1\n"), "line 6 "},
      {"a size by nothing", WithLines("%3 f32[1/0B] = relu %1\n"), "line 6 "},
      {"an unknown type", WithLines("%3 q7[B] = relu %1\n"), "line 6 "},
      {"an open list", WithLines("%3 f32[B,4 = relu %1\n"), "line 6 "},
      {"an open argument", WithLines("%3 f32[B,4] = relu [%1\n"), "line 6 "},
      {"an open string", WithLines("%3 f32[B,4] = relu \"abc\\\n"), "line 6 "},
      {"deep lists", WithLines("%3 f32[B,4] = relu [[[[[[[[[[[[1]]]]]]]]]]]]\n"), "line 6 "},
      {"strides of another rank", WithLines("%3 f32[B,4]/[1] = relu %1\n"), "line 6 "},
      {"a call that does not end", WithLines("call fc\n%3 f32[B,4] = relu %1\n"), "line 8 "},
      {"an end of nothing", WithLines("ret\n"), "line 6 "},
      {"crossed spans", WithLines("call fc\ncheckpoint %1\nret\n"), "line 8 "},
      {"a backward of nothing", WithLines("backward %3 f32[B] of %1\n"), "line 6 "},
      {"a word too many", WithLines("%3 f32[B,4] = relu %1 drop %1 x\n"), "line 6 "},
      {"grad maybe", WithLines("grad maybe\n"), "line 6 "},
      {"tied to no parameter", WithLines(absl::StrCat(kLinear, "tied %3 other\n")), "line 10 "},
      {"a free size without a step", "eager 1\nfree S seq 8\nprogram train\n", "line 2 "},
      {"a free size that never holds", "eager 1\nfree S seq 8 step 0 seen 8 16\nprogram train\n", "line 2 "},
      {"two free sizes", "eager 1\nfree S a 8 step 1 seen 8 16\nfree S b 8 step 1 seen 8 16\n", "line 3 "},
      {"a free size in a program", WithLines("free S seq 8 step 1 seen 8 16\n"), "line 6 "},
      {"something else", WithLines("loop 3 times\n"), "line 6 "},
  };
  for (const Refusal& refusal : refusals) {
    const absl::StatusOr<Record> record = ParseRecord(refusal.text);
    ASSERT_FALSE(record.ok()) << refusal.what;
    const Diagnostic reported = DiagnosticOf(record.status());
    EXPECT_EQ(reported.code, Code::kBadRecord) << refusal.what;
    EXPECT_TRUE(absl::StrContains(reported.message, refusal.line)) << refusal.what << ": " << reported.message;
  }
}

// Whatever is cut off or changed, the reader ends with a record or an error.
// What would be taken apart again and again, or added up one by one, without end.
TEST(Text, RefusesPathsAndResultsThatNoModelHas) {
  std::string deep = "a", many = "return";
  for (int k = 0; k < 200; ++k) deep += ".a";
  for (int k = 0; k < 30'000; ++k) many += " %3";
  const auto said = [](const std::string& text) { return std::string(ParseRecord(text).status().message()); };
  const std::string path = absl::StrReplaceAll(WithLines(kLinear), {{"call fc", absl::StrCat("call ", deep)}});
  EXPECT_TRUE(absl::StrContains(said(path), "line 6 of the record")) << said(path);
  EXPECT_TRUE(absl::StrContains(said(path), "expected a path of at most 100 modules")) << said(path);
  const std::string parameter = absl::StrReplaceAll(WithLines(kLinear), {{"fc.weight", deep}});
  EXPECT_TRUE(absl::StrContains(said(parameter), "expected a path of at most 100 modules")) << said(parameter);
  const std::string results = absl::StrReplaceAll(WithLines(kLinear), {{"return %3", many}});
  EXPECT_TRUE(absl::StrContains(said(results), "expected at most 20080 results")) << said(results);
}

TEST(Text, SurvivesDamage) {
  const std::string text = WithLines(
      "%2 f32[8,4]/[1,8] ^%0 = t %0\n%4 f32[B,4]+1 = mm %1 [%2,1.5,\"x\"] key=T drop %2\nfunction f\n%3 f32[B] = relu "
      "%4\nendfunction %4 held %1\nbackward %5 f32[B] of %3\nendbackward %5 to %4\n");
  for (size_t i = 0; i < text.size(); ++i) {
    (void)ParseRecord(text.substr(0, i));
    for (const char other : {'\n', ' ', '[', '%', '9', 'B'}) {
      std::string changed = text;
      changed[i] = other;
      (void)ParseRecord(changed);
    }
  }
}

TEST(Size, IsReadAndWritten) {
  for (const char* text : {"0", "64", "-1", "B", "-B", "3B", "2B+1", "B-3", "1/2B", "1/2B+1/2", "9223372036854775807",
                           "S", "BSS", "4R", "4BSS+2BS-BR-B+1/2SS-3S+7"}) {
    const std::optional<Size> size = ParseSize(text);
    ASSERT_TRUE(size) << text;
    EXPECT_EQ(ToText(*size), text);
  }
  for (const char* text : {"", "x", "B2", "1/0B", "--1", "9223372036854775808", "1/-2B", "BB", "2B+", "SSS", "SB", "RR",
                           "2B3", "B+B", "S+"}) {
    EXPECT_FALSE(ParseSize(text)) << text;
  }
}

TEST(Size, IsANumberAtABatch) {
  EXPECT_EQ(At(*ParseSize("2B+1"), {.batch = 3}), 7);
  EXPECT_EQ(At(*ParseSize("1/2B"), {.batch = 4}), 2);
  EXPECT_EQ(At(*ParseSize("1/2B"), {.batch = 3}), std::nullopt);
  EXPECT_EQ(At(*ParseSize("1/2B+1/2"), {.batch = 3}), 2);
  EXPECT_EQ(At(*ParseSize("9223372036854775807B"), {.batch = 2}), std::nullopt);
  EXPECT_EQ(At(*ParseSize("4BSS-BS+1/2S+7"), {.batch = 3, .length = 10}), 1200 - 30 + 5 + 7);
  EXPECT_EQ(At(*ParseSize("4R+1"), {.length = 32}), 129);
  EXPECT_EQ(At(*ParseSize("4R+1"), {.length = 33}), 257);
  EXPECT_EQ(At(*ParseSize("1/2S"), {.batch = 3, .length = 5}), std::nullopt);
  EXPECT_EQ(At(*ParseSize("BSS"), {.batch = 2, .length = int64_t{1} << 31}), std::nullopt);
}

TEST(Unpack, TakesPlainAndPacked) {
  EXPECT_EQ(*Unpack("eager 1\n"), "eager 1\n");
  EXPECT_EQ(*Unpack("zlib:eNpLTUxPLVIw5AIADM4CYA=="), "eager 1\n");
  for (const char* damaged : {"zlib:", "zlib:!!!", "zlib:eNpLTUxPLVIw", "zlib:AAAA"}) {
    const absl::StatusOr<std::string> text = Unpack(damaged);
    ASSERT_FALSE(text.ok()) << damaged;
    EXPECT_EQ(DiagnosticOf(text.status()).code, Code::kBadRecord);
  }
}

std::string Lines(const std::string& line, int64_t count) {
  std::string text;
  for (int64_t k = 0; k < count; ++k) text += line;
  return text;
}

Diagnostic ErrorOfText(const std::string& text, std::optional<int64_t> stored_bytes = std::nullopt) {
  return DiagnosticOf(ParseRecord(text, stored_bytes).status());
}

// zlib makes a few bytes of a million lines that are alike.
TEST(Budget, MoreLinesThanTheFileHasBytesFor) {
  const std::string text = WithLines(kLinear + Lines("grad on\n", 60'000));
  EXPECT_TRUE(ParseRecord(text).ok());
  EXPECT_TRUE(ParseRecord(text, 20'000).ok());
  const Diagnostic error = ErrorOfText(text, 1000);
  EXPECT_EQ(error.code, Code::kTooLarge);
  EXPECT_EQ(error.message, "the record has more than 51000 lines");
  EXPECT_EQ(ErrorOfText(WithLines("%3 f32[B,8] = relu %1\n" + Lines("%3 = relu_ %3\n", 100'000))).message,
            "the record has a program of more than 100000 operators");
}

// Each operator within them gets the names of all.
TEST(Budget, CallsWithinCalls) {
  const std::string made = "%3 f32[B,8] = relu %1\n";
  EXPECT_TRUE(ParseRecord(WithLines(made + Lines("call a\n", 250) + Lines("ret\n", 250))).ok());
  EXPECT_EQ(ErrorOfText(WithLines(made + Lines("call a\n", 300) + Lines("ret\n", 300))).message,
            "the record has more than 256 spans within spans");
  const std::string name(15'000, 'a');
  EXPECT_EQ(ErrorOfText(WithLines(made + Lines("call " + name + "\n", 200) + Lines("%3 = relu_ %3\n", 200) +
                                  Lines("ret\n", 200)))
                .message,
            "the record takes more than 256 MiB");
}

// Two bytes of text are a size of 128 bytes, or an argument of more.
TEST(Budget, ListsOfSizes) {
  const std::string line = absl::StrCat("%3 = fill_ %3 [", Lines("1,", 10'000), "1]\n");
  EXPECT_EQ(ErrorOfText(WithLines("%3 f32[B,8] = relu %1\n" + Lines(line, 200))).message,
            "the record takes more than 256 MiB");
}

TEST(Unpack, TextThatIsAThousandTimesWhatItIsPackedIn) {
  const std::string text(64 << 20, 'a');
  std::string packed(compressBound(text.size()), '\0');
  uLongf size = packed.size();
  ASSERT_EQ(compress(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(text.data()),
                     text.size()),
            Z_OK);
  const std::string stored = absl::StrCat("zlib:", absl::Base64Escape(packed.substr(0, size)));
  EXPECT_LT(stored.size(), 100'000u);
  const absl::StatusOr<std::string> unpacked = Unpack(stored);
  EXPECT_EQ(DiagnosticOf(unpacked.status()).code, Code::kTooLarge) << unpacked.status();
}

}  // namespace
}  // namespace onnx_mem::record
