#include "cli/progress.h"

#include <gtest/gtest.h>

#include <string>

namespace onnx_mem {
namespace {

using std::chrono::milliseconds;

// What is written while something takes `work`, and a line is due after `after`.
std::string Written(milliseconds work, milliseconds after) {
  std::FILE* file = std::tmpfile();
  {
    const Progress progress(file, "onnx-mem plan:", after);
    std::this_thread::sleep_for(work);
  }
  std::rewind(file);
  std::string text(1000, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}

TEST(Progress, TellsThatItWorksAndTakesItsLineAway) {
  EXPECT_EQ(Written(milliseconds(300), milliseconds(1)), "\ronnx-mem plan: 0 s\x1b[K\r\x1b[K");
}

TEST(Progress, SaysNothingOfWhatIsShort) { EXPECT_EQ(Written(milliseconds(0), milliseconds(60'000)), ""); }

TEST(Progress, WithoutATerminalSaysNothing) { const Progress progress(nullptr, "x", milliseconds(0)); }

}  // namespace
}  // namespace onnx_mem
