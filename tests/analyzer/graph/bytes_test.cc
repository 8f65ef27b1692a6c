#include "analyzer/graph/bytes.h"

#include <limits>

#include "analyzer/graph/diagnostic.h"
#include "gtest/gtest.h"

namespace onnx_mem {
namespace {

constexpr int64_t kKiB = 1024;
constexpr int64_t kMiB = kKiB * kKiB;
constexpr int64_t kGiB = kKiB * kMiB;

TEST(ParseBytes, ReadsNumbersWithUnits) {
  const struct {
    const char* text;
    int64_t bytes;
  } kCases[] = {
      {"0", 0},
      {"4096", 4096},
      {"512 B", 512},
      {"512MiB", 512 * kMiB},
      {"24GiB", 24 * kGiB},
      {"24 GiB", 24 * kGiB},
      {" 24gib ", 24 * kGiB},
      {"8GB", 8'000'000'000},
      {"8gb", 8'000'000'000},
      {"1.5GiB", kGiB + 512 * kMiB},
      {"1.5g", kGiB + 512 * kMiB},
      {".5K", 512},
      {"2.", 2},
      {"1G", kGiB},
      {"1Gi", kGiB},
      {"3T", 3 * 1024 * kGiB},
      {"1kB", 1000},
      {"1KiB", 1024},
      {"0.3B", 0},
      {"0.7", 1},
      {"1.1GB", 1'100'000'000},
      {"2.3TB", 2'300'000'000'000},
      {"0.12345678901234567890GB", 123'456'789},
      {"9223372036854775807", std::numeric_limits<int64_t>::max()},
  };
  for (const auto& c : kCases) {
    const absl::StatusOr<int64_t> bytes = ParseBytes(c.text);
    ASSERT_TRUE(bytes.ok()) << c.text << ": " << bytes.status();
    EXPECT_EQ(*bytes, c.bytes) << c.text;
  }
}

TEST(ParseBytes, RefusesWhatIsNotASize) {
  const struct {
    const char* text;
    const char* message;
  } kCases[] = {
      {"", "'' is not a size: it has no number"},
      {"GiB", "'GiB' is not a size: it has no number"},
      {".", "'.' is not a size: it has no number"},
      {"-1GiB", "'-1GiB' is not a size: it is negative"},
      {"12xy", "'12xy' is not a size: unknown unit 'xy'"},
      {"1.2.3", "'1.2.3' is not a size: unknown unit '.3'"},
      {"1e9", "'1e9' is not a size: unknown unit 'e9'"},
      {"12 GiBs", "'12 GiBs' is not a size: unknown unit 'GiBs'"},
      {"9223372036854775808", "'9223372036854775808' is not a size: it is larger than 64 bits hold"},
      {"8388608TiB", "'8388608TiB' is not a size: it is larger than 64 bits hold"},
      {"99999999999999999999999", "'99999999999999999999999' is not a size: it is larger than 64 bits hold"},
  };
  for (const auto& c : kCases) {
    const absl::StatusOr<int64_t> bytes = ParseBytes(c.text);
    ASSERT_FALSE(bytes.ok()) << c.text << " = " << *bytes;
    EXPECT_EQ(bytes.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(DiagnosticOf(bytes.status()).code, Code::kUsage);
    EXPECT_EQ(DiagnosticOf(bytes.status()).message, c.message);
  }
}

TEST(FormatBytes, HasThreeDigitsInTheUnitThatFits) {
  const struct {
    int64_t bytes;
    const char* text;
  } kCases[] = {
      {0, "0 B"},
      {1, "1 B"},
      {512, "512 B"},
      {1023, "1,023 B"},
      {1024, "1.00 KiB"},
      {1025, "1.00 KiB"},
      {1536, "1.50 KiB"},
      {10'234, "9.99 KiB"},
      {10'236, "10.0 KiB"},
      {102'350, "100 KiB"},
      {102'400, "100 KiB"},
      {1023 * kKiB, "1,023 KiB"},
      {kMiB - 1, "1.00 MiB"},
      {97 * kMiB + 512 * kKiB, "97.5 MiB"},
      {1000 * kMiB, "1,000 MiB"},
      {6'420'000'000, "5.98 GiB"},
      {12 * kGiB, "12.0 GiB"},
      {5000 * kGiB, "4.88 TiB"},
      {-2'750'000'000, "-2.56 GiB"},
      {std::numeric_limits<int64_t>::max(), "8,388,608 TiB"},
      {std::numeric_limits<int64_t>::min(), "-8,388,608 TiB"},
  };
  for (const auto& c : kCases) EXPECT_EQ(FormatBytes(c.bytes), c.text) << c.bytes;
}

TEST(FormatBytes, ReadsBackWithinHalfAPercent) {
  for (int64_t bytes = 1; bytes < int64_t{1} << 50; bytes = bytes * 7 / 5 + 1) {
    std::string text = FormatBytes(bytes);
    std::erase(text, ',');
    const absl::StatusOr<int64_t> back = ParseBytes(text);
    ASSERT_TRUE(back.ok()) << text;
    EXPECT_LE(std::abs(static_cast<double>(*back - bytes)), 0.005 * static_cast<double>(bytes)) << text;
  }
}

TEST(FormatBytesIn, KeepsTheUnit) {
  EXPECT_EQ(FormatBytesIn(6'421'000'000, ByteUnit::kAuto), "5.98 GiB");
  EXPECT_EQ(FormatBytesIn(6'421'000'000, ByteUnit::kMiB), "6,124 MiB");
  EXPECT_EQ(FormatBytesIn(32 * kMiB, ByteUnit::kGiB), "0.0312 GiB");
  EXPECT_EQ(FormatBytesIn(1, ByteUnit::kGiB), "0.000000 GiB");
  EXPECT_EQ(FormatBytesIn(0, ByteUnit::kGiB), "0 GiB");
  EXPECT_EQ(FormatBytesIn(1'500'000'000, ByteUnit::kGB), "1.50 GB");
  EXPECT_EQ(FormatBytesIn(102'228'128, ByteUnit::kB), "102,228,128 B");
}

TEST(FormatSignedBytes, ShowsTheSign) {
  EXPECT_EQ(FormatSignedBytes(512), "+512 B");
  EXPECT_EQ(FormatSignedBytes(0), "0 B");
  EXPECT_EQ(FormatSignedBytes(-2 * kGiB), "-2.00 GiB");
  EXPECT_EQ(FormatSignedBytes(kGiB, ByteUnit::kMiB), "+1,024 MiB");
}

TEST(ParseByteUnit, KnowsTheUnits) {
  EXPECT_EQ(*ParseByteUnit("auto"), ByteUnit::kAuto);
  EXPECT_EQ(*ParseByteUnit("gib"), ByteUnit::kGiB);
  EXPECT_EQ(*ParseByteUnit("MB"), ByteUnit::kMB);
  const Diagnostic error = DiagnosticOf(ParseByteUnit("XB").status());
  EXPECT_EQ(error.message, "'XB' is not a unit of memory");
  EXPECT_EQ(error.details, std::vector<std::string>{"it is one of: auto, B, KiB, MiB, GiB, TiB, KB, MB, GB, TB"});
}

TEST(WithThousands, SeparatesGroupsOfThree) {
  EXPECT_EQ(WithThousands(0), "0");
  EXPECT_EQ(WithThousands(999), "999");
  EXPECT_EQ(WithThousands(1000), "1,000");
  EXPECT_EQ(WithThousands(25'557'032), "25,557,032");
  EXPECT_EQ(WithThousands(-123'456), "-123,456");
  EXPECT_EQ(WithThousands(std::numeric_limits<int64_t>::min()), "-9,223,372,036,854,775,808");
}

}  // namespace
}  // namespace onnx_mem
