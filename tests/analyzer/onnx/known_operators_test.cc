// What lower has a row for has a size: of every operator somebody says which shape its results have, the standard's
// schema or a rule of ours. A graph written as text gives each tensor its shape, and its tests do not notice.
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "analyzer/lower/operators/table.h"
#include "analyzer/onnx/infer/schemas.h"
#include "analyzer/onnx/rules/rule.h"
#include "onnx/defs/schema.h"

namespace onnx_mem {
namespace {

bool HasShapes(const TableRow& row) {
  const std::string op(row.onnx), domain(row.domain);
  if (rules::FindRule(row.domain, row.onnx) != nullptr || rules::FindBound(row.onnx) != nullptr) return true;
  const onnx::OpSchema* schema =
      Schemas::Instance().GetSchema(op, INT32_MAX, rules::IsStandardElsewhere(domain, op) ? "" : domain);
  return schema != nullptr && schema->has_type_and_shape_inference_function();
}

// Of these nobody says it: a file with one is reported to be a lower bound (custom-op, unknown-size).
const std::set<std::string>& WithoutShapes() {
  static const auto& names = *new std::set<std::string>{"ai.onnx.preview.training.Gradient",
                                                        "com.microsoft.Irfft",
                                                        "com.microsoft.IsAllFinite",
                                                        "com.microsoft.MulInteger",
                                                        "com.microsoft.ReduceSumInteger",
                                                        "com.microsoft.Rfft",
                                                        "com.microsoft.Tokenizer"};
  return names;
}

TEST(KnownOperators, HaveAShapeRule) {
  for (const TableRow& row : AllRows()) {
    const std::string name = absl::StrCat(std::string(row.domain), ".", std::string(row.onnx));
    EXPECT_EQ(HasShapes(row), !WithoutShapes().contains(name))
        << name << ": add a row to analyzer/onnx/rules, or take it out of this list where it has one";
  }
}

}  // namespace
}  // namespace onnx_mem
