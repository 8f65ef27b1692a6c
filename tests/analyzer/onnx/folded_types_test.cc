// Stored tensors whose type in the file is not the one that they had in torch's program.
#include <gtest/gtest.h>

#include <string>

#include "onnx/onnx_pb.h"
#include "tests/graph_text.h"

namespace onnx_mem {
namespace {

// x * cos, where the file has `cos` as doubles and `type` in its value_info; the type of what comes out.
DType TypeOfProduct(int32_t type) {
  onnx::ModelProto model = ModelOfText(R"(g (float[2,3] x, float[2,3] z) => (float[2,3] y)
      <double[1,3] cos = {1.0, 0.5, 0.0}>
      { p = Mul(x, cos)
        y = Add(z, p) })");
  onnx::ValueInfoProto& info = *model.mutable_graph()->add_value_info();
  info.set_name("cos");
  info.mutable_type()->mutable_tensor_type()->set_elem_type(type);
  absl::StatusOr<ModelFile> file = ModelFile::Parse(model.SerializeAsString(), "m.onnx");
  EXPECT_TRUE(file.ok()) << file.status();
  const absl::StatusOr<ImportedModel> imported = file->Import({});
  EXPECT_TRUE(imported.ok()) << imported.status();
  if (!imported.ok()) return DType::kUnknown;
  for (const Tensor& tensor : imported->graph.tensors) {
    if (tensor.name == "cos") return tensor.dtype;
  }
  return DType::kUnknown;
}

// onnxscript's folding went over to doubles; torch's program did not.
TEST(FoldedTypes, ValueInfoHasTheTypeOfTheProgram) {
  EXPECT_EQ(TypeOfProduct(onnx::TensorProto::FLOAT), DType::kFloat32);
  EXPECT_EQ(TypeOfProduct(onnx::TensorProto::BFLOAT16), DType::kBFloat16);
}

TEST(FoldedTypes, WithoutOneTheFileDecides) {
  EXPECT_EQ(TypeOfProduct(onnx::TensorProto::UNDEFINED), DType::kFloat64);
  EXPECT_EQ(TypeOfProduct(onnx::TensorProto::INT64), DType::kFloat64) << "no floating type";
}

}  // namespace
}  // namespace onnx_mem
