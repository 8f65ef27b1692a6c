#include "analyzer/onnx/read/sniff.h"

#include "analyzer/graph/diagnostic.h"
#include "gtest/gtest.h"

namespace onnx_mem {
namespace {

using std::literals::string_literals::operator""s;

Diagnostic Sniff(const std::string& head) {
  return DiagnosticOf(CheckMagic(head, static_cast<int64_t>(head.size()), "m.onnx"));
}

TEST(CheckMagic, TakesWhatMayBeAModel) {
  EXPECT_TRUE(CheckMagic("\x08\x09\x12\x07pytorch", 11, "m.onnx").ok());
  EXPECT_TRUE(CheckMagic("\x08\x03", 2, "m.onnx").ok());
}

TEST(CheckMagic, EmptyFile) {
  EXPECT_EQ(Sniff("").code, Code::kEmpty);
  EXPECT_EQ(Sniff("").message, "'m.onnx' is empty (0 bytes)");
}

TEST(CheckMagic, GitLfsPointerHasItsOwnCode) {
  const Diagnostic error = Sniff("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n");
  EXPECT_EQ(error.code, Code::kLfsPointer);
  EXPECT_EQ(error.details, std::vector<std::string>{"try: git lfs pull --include m.onnx"});
}

TEST(CheckMagic, NamesOtherFormats) {
  const std::pair<std::string, std::string> cases[] = {
      {"PK\x03\x04\x00\x00\x08\x08 archive/data.pkl"s,
       "'m.onnx' is a PyTorch checkpoint (zip archive), not an ONNX model"},
      {"PK\x03\x04\x14\x00 weights.npy"s, "'m.onnx' is a NumPy archive (zip), not an ONNX model"},
      {"\x80\x02\x8a\x0al\xfc\x9c"s, "'m.onnx' is a PyTorch checkpoint (legacy pickle), not an ONNX model"},
      {"\x40\x01\x00\x00\x00\x00\x00\x00{\"__metadata__\":{}}"s,
       "'m.onnx' is a safetensors file (weights without a graph), not an ONNX model"},
      {"\x1f\x8b\x08\x00"s, "'m.onnx' is gzip-compressed, not an ONNX model"},
      {"\n  <!DOCTYPE html><html>"s, "'m.onnx' is an HTML page (a web error page saved as .onnx?), not an ONNX model"},
      {"\x1c\x00\x00\x00TFL3"s, "'m.onnx' is a TensorFlow Lite model, not an ONNX model"},
      {"GGUF\x03\x00\x00\x00"s, "'m.onnx' is a GGUF file (weights without a graph), not an ONNX model"},
  };
  for (const auto& [head, message] : cases) {
    EXPECT_EQ(Sniff(head).code, Code::kNotOnnx) << message;
    EXPECT_EQ(Sniff(head).message, message);
  }
}

}  // namespace
}  // namespace onnx_mem
