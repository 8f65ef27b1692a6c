// compare MODEL --measured SIZE --report: which cause a difference fits, and that no name leaves the machine.
#include "report/compare/measured_row.h"

#include <gtest/gtest.h>

namespace onnx_mem {
namespace {

PeakFigures Figures() {
  PeakFigures figures;
  figures.peak_bytes = 100000;
  figures.peak_low_bytes = 95000;
  figures.peak_high_bytes = 110000;
  figures.allocated_peak_bytes = 108000;
  figures.allocated_low_bytes = 100000;
  figures.allocated_high_bytes = 140000;
  return figures;
}

TEST(MeasuredRow, NamesTheCauseThatADifferenceFits) {
  EXPECT_EQ(CauseOf(Figures(), 108511), "none");
  EXPECT_EQ(CauseOf(Figures(), 107489), "none");
  EXPECT_EQ(CauseOf(Figures(), 108512), "file");
  EXPECT_EQ(CauseOf(Figures(), 118000), "file");
  EXPECT_EQ(CauseOf(Figures(), 118001), "workspace");
  EXPECT_EQ(CauseOf(Figures(), 102999), "workspace");
  EXPECT_EQ(CauseOf(Figures(), 140001), "above-range");
  EXPECT_EQ(CauseOf(Figures(), 99999), "below-range");
}

TEST(MeasuredRow, KnowsNoCauseInAFileThatLeavesNothingOpen) {
  PeakFigures figures = Figures();
  figures.peak_low_bytes = figures.peak_high_bytes = 0;  // no range
  EXPECT_EQ(CauseOf(figures, 110000), "workspace");
}

TEST(MeasuredRow, LeavesNamesOut) {
  EXPECT_EQ(WithoutNames("freeze", "secret.*"), "given");
  EXPECT_EQ(WithoutNames("inplace", "norms"), "norms");
  EXPECT_EQ(WithoutNames("lora", "8:secret_proj"), "8");
  EXPECT_EQ(WithoutNames("fsdp", "4:secret.block"), "4");
  EXPECT_EQ(WithoutNames("optimizer", "adamw"), "adamw");
}

}  // namespace
}  // namespace onnx_mem
