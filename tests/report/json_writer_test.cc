#include "report/parts/json_writer.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace onnx_mem {
namespace {

std::string Quoted(std::string_view text) { return JsonWriter().String(text).text(); }

TEST(JsonWriter, KeepsTheOrderOfTheCalls) {
  JsonWriter json;
  json.BeginObject();
  json.Key("b").Int(64);
  json.Key("a").BeginArray(JsonWriter::Layout::kOneLine).Int(1).Null().Bool(true).EndArray();
  json.Key("empty").BeginObject().EndObject();
  json.EndObject();
  EXPECT_EQ(json.text(), "{\n  \"b\": 64,\n  \"a\": [1, null, true],\n  \"empty\": {}\n}");
}

TEST(JsonWriter, WritesRatiosAsRatios) {
  EXPECT_EQ(JsonWriter().Number(0.0856).text(), "0.0856");
  EXPECT_EQ(JsonWriter().Number(1).text(), "1.0");
  EXPECT_EQ(JsonWriter().Number(std::numeric_limits<double>::infinity()).text(), "null");
  EXPECT_EQ(JsonWriter().Int(std::numeric_limits<int64_t>::min()).text(), "-9223372036854775808");
}

TEST(JsonWriter, EscapesWhatJsonReserves) {
  EXPECT_EQ(Quoted("a\"b\\c\nd\x01"), R"("a\"b\\c\u000ad\u0001")");
  EXPECT_EQ(Quoted("</script> é 漢 😀"), "\"</script> é 漢 😀\"");
}

TEST(JsonWriter, ReplacesWhatIsNotUtf8) {
  const std::string_view kReplacement = "\xEF\xBF\xBD";
  // A lone continuation byte, a cut character, an overlong '/', a surrogate, a character beyond U+10FFFF.
  for (std::string_view bad : {"\x80", "\xE2\x82", "\xC0\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80"}) {
    const std::string quoted = Quoted(bad);
    EXPECT_EQ(quoted.substr(1, 3), kReplacement);
    EXPECT_FALSE(nlohmann::json::parse(quoted, nullptr, false).is_discarded());
  }
}

}  // namespace
}  // namespace onnx_mem
