// Operators' names as the graph holds them.
#include "analyzer/graph/op_name.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace onnx_mem {
namespace {

TEST(OpName, IsTheSameHoweverItIsSpelled) {
  const OpName conv("Conv");
  EXPECT_TRUE(conv == OpName(std::string("Conv")));
  EXPECT_TRUE(conv == "Conv");
  EXPECT_TRUE(conv == std::string_view("Conv"));
  EXPECT_FALSE(conv == "Con");
  EXPECT_FALSE(conv == "ConvTranspose");
  EXPECT_TRUE(conv != std::string("conv"));
  EXPECT_EQ(conv.str(), "Conv");
}

TEST(OpName, IsEmptyUnlessSaid) {
  EXPECT_TRUE(OpName().empty());
  EXPECT_TRUE(OpName() == "");
  EXPECT_TRUE(OpName() == OpName(std::string()));
}

// A zero byte is a part of a name like any other: a file may have one.
TEST(OpName, KeepsEveryByte) {
  const std::string odd("Co\0nv", 5);
  EXPECT_EQ(OpName(odd).str(), odd);
  EXPECT_FALSE(OpName(odd) == "Co");
}

TEST(OpName, KeysAMapAsItsTextDoes) {
  const std::map<std::string, int, std::less<>> rows = {{"Conv", 1}, {"Relu", 2}};
  EXPECT_EQ(rows.at(OpName("Relu")), 2);
}

TEST(OpName, IsOneThingForAllThreads) {
  std::vector<OpName> seen(8);
  std::vector<std::thread> threads;
  for (OpName& name : seen) threads.emplace_back([&name] { name = OpName("MadeByThreads"); });
  for (std::thread& thread : threads) thread.join();
  for (const OpName& name : seen) EXPECT_EQ(&name.str(), &seen[0].str());
}

}  // namespace
}  // namespace onnx_mem
