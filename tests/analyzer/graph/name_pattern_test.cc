// Regular expressions over names: what std::regex says of them, in time proportional to the name.
#include "analyzer/graph/name_pattern.h"

#include <gtest/gtest.h>

#include <regex>
#include <string>

namespace onnx_mem {
namespace {

// Whatever the pattern, the answers are those of the standard library.
TEST(NamePattern, AgreesWithTheStandardLibrary) {
  const std::vector<std::string> patterns = {
      "",
      "layer1",
      "^layer1",
      "layer1$",
      "^layer1\\.0$",
      "layer[12]\\..*weight",
      "a|b|",
      "(ab)+c?",
      "(?:ab){2,3}",
      "a{2}",
      "a{2,}",
      "x*y*z*",
      ".*bias",
      "^(?!layer1\\.)",
      "^(?!(?:fc|a)$)",
      "layer(?=1\\.)",
      "(?!a)b",
      "\\bfc\\b",
      "\\Bc",
      "\\d+",
      "[^a-z.]",
      "[[:digit:]_]",
      "\\w+\\.\\w+$",
      "(a*)*b",
      "(a|aa)+$",
      "[\\d.]+",
      "\\.",
      "a.c",
      "(^|\\.)q_proj",
      "((a)|(b))*?",
      "[a-c]{1,2}",
      "\\x41",
      "$^",
      "(?=.*w)(?=.*1)",
      "a(?!.*(?=b)b)",
      "[\\]\\-]",
  };
  const std::vector<std::string> names = {"",
                                          "layer1",
                                          "layer1.0",
                                          "layer1.0.weight",
                                          "layer2.1.bias",
                                          "fc",
                                          "fc.a",
                                          "abab",
                                          "ababc",
                                          "aaaaaab",
                                          "aa",
                                          "b",
                                          "model.layers.3.self_attn.q_proj",
                                          "A",
                                          "x-]y",
                                          "abc",
                                          "xyzzy",
                                          "a\nc",
                                          "w1",
                                          "1w"};
  for (const std::string& pattern : patterns) {
    const auto ours = NamePattern::Compile(pattern);
    ASSERT_TRUE(ours) << pattern;
    const std::regex theirs(pattern);
    for (const std::string& name : names) {
      EXPECT_EQ(ours->FoundIn(name), std::regex_search(name, theirs)) << pattern << " in " << name;
      EXPECT_EQ(ours->Matches(name), std::regex_match(name, theirs)) << pattern << " as " << name;
    }
  }
}

TEST(NamePattern, WhatIsNone) {
  for (const char* pattern : {"(", ")", "[a", "a{2", "*a", "a{3,2}", "(?<n>a)", "\\", "[b-a]", "(a)\\1",
                              "(a{999}){999}", "[[:none:]]", "^*"}) {
    EXPECT_FALSE(NamePattern::Compile(pattern)) << pattern;
  }
  EXPECT_FALSE(NamePattern::Compile(std::string(100'000, '(')));
}

TEST(NamePattern, LongNames) {
  const std::string name(200'000, 'L');
  EXPECT_TRUE(NamePattern::Compile(".*")->Matches(name));
  EXPECT_FALSE(NamePattern::Compile(".*q.*")->FoundIn(name));
  EXPECT_FALSE(NamePattern::Compile("(L+)+$q")->FoundIn(name));
  EXPECT_FALSE(NamePattern::Compile("(?!L*L)L")->FoundIn(name));
  EXPECT_TRUE(NamePattern::Compile("^(?!fc\\.)")->FoundIn(name));
}

}  // namespace
}  // namespace onnx_mem
