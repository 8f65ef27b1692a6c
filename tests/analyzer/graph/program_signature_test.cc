// What an exported program says of its module's tensors.
#include "analyzer/graph/program_signature.h"

#include <gtest/gtest.h>

namespace onnx_mem {
namespace {

TEST(ProgramSignature, NamesEveryTensorOfTheModule) {
  const ProgramSignature signature = ProgramSignature::Parse(R"(
# inputs
p_fc_weight: PARAMETER target='fc.weight'
b_scale: BUFFER target='scale' persistent=False
b_bn_running_mean: BUFFER target='bn.running_mean' persistent=True
c_lifted_tensor_0: CONSTANT_TENSOR target='lifted_tensor_0'
obj: CUSTOM_OBJ target='obj'
x: USER_INPUT
p_fc_weight: PARAMETER target='again'
p_bad: PARAMETER target='no end
a line of another form

# outputs
b_scale: BUFFER_MUTATION target='scale'
linear: USER_OUTPUT
)");
  ASSERT_EQ(signature.entries().size(), 4u);
  const SignatureEntry* weight = signature.FindPlaceholder("p_fc_weight");
  ASSERT_NE(weight, nullptr);
  EXPECT_EQ(weight->kind, SignatureKind::kParameter);
  EXPECT_EQ(weight->target, "fc.weight");
  EXPECT_EQ(signature.FindTarget("fc.weight"), weight);
  EXPECT_FALSE(signature.FindTarget("scale")->persistent);
  EXPECT_TRUE(signature.FindTarget("bn.running_mean")->persistent);
  EXPECT_EQ(signature.FindTarget("lifted_tensor_0")->kind, SignatureKind::kConstant);
  EXPECT_EQ(signature.FindTarget("obj"), nullptr);
  EXPECT_TRUE(ProgramSignature::Parse("").empty());
}

TEST(FxCall, HasTheArgumentsOfTheFrameworksCall) {
  const FxCall call = ParseFxCall(
      "%norm_1 : [num_users=3] = call_function[target=torch.ops.aten._native_batch_norm_legit_functional.default](args "
      "= (%conv2d, %p_bn1_weight, None, [%a, 1], True, 0.1), kwargs = {approximate: tanh})");
  EXPECT_EQ(call.name, "norm_1");
  EXPECT_EQ(call.target, "aten._native_batch_norm_legit_functional.default");
  EXPECT_EQ(call.args, (std::vector<std::string>{"conv2d", "p_bn1_weight", "None", "[%a, 1]", "True", "0.1"}));
  EXPECT_EQ(call.kwargs, (std::vector<std::string>{"approximate: tanh"}));
}

TEST(FxCall, OfAnotherFormHasNoName) {
  for (const char* text : {"", "%x", "%x : [num_users=1] = placeholder[target=x]", "x : [target=](args = ("}) {
    EXPECT_EQ(ParseFxCall(text).name, "") << text;
  }
}

}  // namespace
}  // namespace onnx_mem
