#include "report/parts/printable.h"

#include <gtest/gtest.h>

#include <string>

#include "report/parts/json_writer.h"

namespace onnx_mem {
namespace {

TEST(Printable, WhatCommandsATerminalOrTurnsTheTextAround) {
  EXPECT_EQ(Printable("a\x1b[2J\x07\rb\tc\x7f\nd"), "a?[2J??b?c?\nd");
  EXPECT_EQ(Printable("\xC2\x9B"
                      "31m \xE2\x80\xAE"
                      "exe \xE2\x81\xA6 \xD8\x9C"),
            "?31m ?exe ? ?");
  EXPECT_EQ(Printable("a\x9B"
                      "b\xFF"),
            "a?b?");
  EXPECT_EQ(Printable("Größe ─ 模型 █"), "Größe ─ 模型 █");
}

TEST(Printable, OnlyOurOwnColors) {
  EXPECT_EQ(Printable("\x1b[32mgreen\x1b[0m\x1b[2J", Filter::kColored), "\x1b[32mgreen\x1b[0m?[2J");
  EXPECT_EQ(Printable("\x1b[32mgreen"), "?[32mgreen");
}

TEST(Printable, LongWordsAreCutForReadersAlone) {
  const std::string name(60'000, 'L');
  EXPECT_EQ(Printable("a " + name + "1 b"), "a " + std::string(512, 'L') + "..." + std::string(511, 'L') + "1 b");
  EXPECT_EQ(Printable(name, Filter::kData), name);
}

TEST(Printable, JsonKeepsThemAsEscapes) {
  JsonWriter json;
  json.String("\x1b\x7f\xC2\x9B\xE2\x80\xAE");
  EXPECT_EQ(json.Take(), R"("\u001b\u007f\u009b\u202e")");
}

}  // namespace
}  // namespace onnx_mem
