// Fields of a CSV file, as a program and as a spreadsheet read them.
#include "report/parts/csv_field.h"

#include <gtest/gtest.h>

namespace onnx_mem {
namespace {

TEST(CsvField, IsQuotedWhereItMustBe) {
  EXPECT_EQ(CsvField("layer1.0"), "layer1.0");
  EXPECT_EQ(CsvField("-4096"), "-4096");
  EXPECT_EQ(CsvField("a,b"), "\"a,b\"");
  EXPECT_EQ(CsvField("a \"b\""), "\"a \"\"b\"\"\"");
}

TEST(CsvText, NoCellIsAFormula) {
  EXPECT_EQ(CsvText("layer1.0"), "layer1.0");
  EXPECT_EQ(CsvText("=cmd|' /C calc'!A0"), "'=cmd|' /C calc'!A0");
  EXPECT_EQ(CsvText("@SUM(A1)"), "'@SUM(A1)");
  EXPECT_EQ(CsvText("+1"), "'+1");
  EXPECT_EQ(CsvText("-1"), "'-1");
  EXPECT_EQ(CsvText("\t=1"), "'\t'=1");
  EXPECT_EQ(CsvText("\xef\xbc\x9d"
                    "1"),
            "'\xef\xbc\x9d"
            "1");
  EXPECT_EQ(CsvText("a=b"), "a=b");
}

// A spreadsheet that cuts at semicolons does not know of quotes that begin elsewhere.
TEST(CsvText, NorIsAnyPartOfACell) {
  EXPECT_EQ(CsvText("a;=1"), "a;'=1");
  EXPECT_EQ(CsvText("a,=1"), "\"a,'=1\"");
  EXPECT_EQ(CsvText("\"=1"), "\"\"\"=1\"");
  EXPECT_EQ(CsvText("view[1,-1]"), "\"view[1,-1]\"");
}

}  // namespace
}  // namespace onnx_mem
