// The driver that a row to send names is that of the card that was measured, or none.
#include <gtest/gtest.h>

#include "cli/answers/cards.h"

namespace onnx_mem {
namespace {

LocalGpu Here(const std::string& name, const std::string& driver) {
  LocalGpu gpu;
  gpu.name = name;
  gpu.driver = driver;
  return gpu;
}

TEST(DriverOf, IsThatOfACardOfThisMachine) {
  const std::vector<LocalGpu> here = {Here("NVIDIA GeForce RTX 4090", "550.54"), Here("NVIDIA L4", "550.54")};
  Card card;
  card.name = FindGpu("L4")->name;
  EXPECT_EQ(DriverOf(card, here), "550.54");
  card.name = FindGpu("H100 PCIe")->name;
  EXPECT_EQ(DriverOf(card, here), "");
  EXPECT_EQ(DriverOf(card, {}), "");
  card.local = LocalCard{Here("NVIDIA of a later year", "600.1"), 1};
  EXPECT_EQ(DriverOf(card, here), "600.1");
}

}  // namespace
}  // namespace onnx_mem
