#include "tests/graph_text.h"

#include <cstdlib>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "onnx/defs/parser.h"

namespace onnx_mem {
namespace {

[[noreturn]] void Die(std::string_view what, std::string_view text) {
  std::cerr << what << "\nin\n" << text << std::endl;
  std::abort();
}

}  // namespace

onnx::ModelProto ModelOfText(std::string_view text, int opset) {
  std::string model_text(text);
  const size_t start = model_text.find_first_not_of(" \t\r\n");
  if (start == std::string::npos || model_text[start] != '<') {
    model_text = absl::StrCat("<ir_version: 10, opset_import: [\"\" : ", opset,
                              ", \"com.microsoft\" : 1, \"com.example\" : 1]>\n", model_text);
  }
  onnx::ModelProto model;
  const auto status = onnx::OnnxParser::Parse(model, model_text.c_str());
  if (!status.IsOK()) Die(status.ErrorMessage(), model_text);
  return model;
}

std::string ModelBytes(std::string_view text, int opset) { return ModelOfText(text, opset).SerializeAsString(); }

absl::StatusOr<ImportedModel> ImportText(std::string_view text, const Bindings& bindings, int opset) {
  auto file = ModelFile::Parse(ModelBytes(text, opset), "text.onnx");
  if (!file.ok()) return file.status();
  return file->Import(bindings);
}

Graph ParseGraph(std::string_view text, const std::map<std::string, int64_t>& dims, int opset) {
  Bindings bindings;
  bindings.dims = dims;
  auto model = ImportText(text, bindings, opset);
  if (!model.ok()) {
    const Diagnostic diagnostic = DiagnosticOf(model.status());
    Die(absl::StrCat(CodeOf(diagnostic), ": ", diagnostic.message, "\n", absl::StrJoin(diagnostic.details, "\n")),
        text);
  }
  return std::move(model->graph);
}

}  // namespace onnx_mem
