#include "analyzer/devices/link.h"

#include <algorithm>
#include <array>

#include "absl/strings/match.h"

namespace onnx_mem {
namespace {

constexpr double kGigabyte = 1e9;

struct GenerationRow {
  std::string_view architecture;
  CardLink link;
};

// Links of a module times their rate: NVIDIA's data sheets of P100, V100, A100, H100 and B200, which count both
// directions (160, 300, 600, 900 and 1800 GB/s).
constexpr auto kNvLinks = std::to_array<GenerationRow>({
    {"Pascal", {"NVLink 1", 80 * kGigabyte}},
    {"Volta", {"NVLink 2", 150 * kGigabyte}},
    {"Ampere", {"NVLink 3", 300 * kGigabyte}},
    {"Hopper", {"NVLink 4", 450 * kGigabyte}},
    {"Blackwell", {"NVLink 5", 900 * kGigabyte}},
});

// Cards that exist as such modules alone, without the form in their name.
constexpr std::string_view kModules[] = {"H200", "B200"};

bool IsModule(const Gpu& gpu) {
  return absl::StrContains(gpu.name, " SXM") ||
         std::find(std::begin(kModules), std::end(kModules), gpu.name) != std::end(kModules);
}

}  // namespace

CardLink HostLinkOf(const Gpu& gpu) {
  constexpr CardLink kGeneration3{"PCIe 3", 15.75 * kGigabyte}, kGeneration4{"PCIe 4", 31.5 * kGigabyte},
      kGeneration5{"PCIe 5", 63 * kGigabyte};
  CardLink link = kGeneration4;
  for (std::string_view newest : {"Hopper", "Blackwell", "CDNA3", "CDNA4"}) {
    if (gpu.architecture == newest) link = kGeneration5;
  }
  for (std::string_view older : {"Kepler", "Maxwell", "Pascal", "Volta", "Turing"}) {
    if (gpu.architecture == older) link = kGeneration3;
  }
  link.bandwidth *= static_cast<double>(gpu.pcie_lanes.value_or(16)) / 16;
  return link;
}

CardLink PeerLinkOf(const Gpu& gpu) {
  if (!IsModule(gpu)) return HostLinkOf(gpu);
  const auto row = std::find_if(kNvLinks.begin(), kNvLinks.end(),
                                [&](const GenerationRow& each) { return each.architecture == gpu.architecture; });
  return row == kNvLinks.end() ? HostLinkOf(gpu) : row->link;
}

}  // namespace onnx_mem
