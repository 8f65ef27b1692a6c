#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "analyzer/graph/diagnostic.h"

namespace onnx_mem {
namespace {

constexpr Code kAll[] = {
#define CODE(id, name, meaning) Code::id,
#include "analyzer/graph/diagnostic_codes.inc"
#undef CODE
};

constexpr char kPage[] = ONNX_MEM_SOURCE_DIR "/docs/reference/codes.md";

std::string Page() {
  std::string text =
      "# Codes of notes, warnings and errors\n\n"
      "Every note, warning and error ends with a code in brackets, and carries it in JSON. Codes stay as they are "
      "from\n"
      "version to version. `rewrite-NAME` is followed by the name that `--no-rewrite` takes. This page is written "
      "from\n"
      "`analyzer/graph/diagnostic_codes.inc` (`ONNX_MEM_UPDATE_GOLDEN=1 ./scripts/test -R DiagnosticCodes`).\n\n";
  for (Code code : kAll) {
    const std::string meaning(MeaningOf(code));
    absl::StrAppend(&text, "- `", std::string(NameOf(code)), code == Code::kRewrite ? "-NAME" : "", "`: ", meaning,
                    "\n");
  }
  return text;
}

TEST(DiagnosticCodes, AreKebabCaseAndEachOnce) {
  const std::regex kebab("[a-z][a-z0-9]*(-[a-z0-9]+)*");
  std::set<std::string> seen;
  for (Code code : kAll) {
    const std::string name(NameOf(code));
    EXPECT_TRUE(std::regex_match(name, kebab)) << name;
    EXPECT_TRUE(seen.insert(name).second) << name << " twice";
    EXPECT_FALSE(MeaningOf(code).empty()) << name;
  }
}

TEST(DiagnosticCodes, StandOnThePageInDocs) {
  if (std::getenv("ONNX_MEM_UPDATE_GOLDEN") != nullptr) std::ofstream(kPage) << Page();
  std::ifstream in(kPage);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), Page());
}

}  // namespace
}  // namespace onnx_mem
