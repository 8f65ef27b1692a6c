// Links of a card: to the host, and to the other cards of one machine. Nominal rates in one direction, bytes a second.
#ifndef ONNX_MEM_ANALYZER_DEVICES_LINK_H_
#define ONNX_MEM_ANALYZER_DEVICES_LINK_H_

#include <string_view>

#include "analyzer/devices/gpus.h"

namespace onnx_mem {

struct CardLink {
  std::string_view name;  // "NVLink 4"
  double bandwidth = 0;   // 0: there is none
};

// PCI Express.
CardLink HostLinkOf(const Gpu& gpu);

// NVLink where the card is a module that is always joined by it; else PCI Express: of bridges nothing is known.
CardLink PeerLinkOf(const Gpu& gpu);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_DEVICES_LINK_H_
