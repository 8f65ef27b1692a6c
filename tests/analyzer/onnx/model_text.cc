#include "tests/analyzer/onnx/model_text.h"

#include "gtest/gtest.h"
#include "onnx/defs/parser.h"
#include "onnx/onnx_pb.h"

namespace onnx_mem {

onnx::ModelProto ModelOfText(const std::string& text) {
  const bool heading = text.find("ir_version") != std::string::npos;
  const std::string whole = heading ? text : "<ir_version: 8, opset_import: [\"\" : 17]>\n" + text;
  onnx::ModelProto model;
  const auto status = onnx::OnnxParser::Parse(model, whole.c_str());
  EXPECT_TRUE(status.IsOK()) << status.ErrorMessage();
  return model;
}

std::string BytesOfText(const std::string& text) { return ModelOfText(text).SerializeAsString(); }

}  // namespace onnx_mem
