// What NCCL takes from the card for its communicators, outside of PyTorch's allocator.
//
// A rank has a buffer for each channel and each rank that it receives from: for the three protocols LL (8 lines of 16
// bytes for each of 512 threads, in 8 steps), LL128 (120 words of 8 bytes for each of 640 threads, in 8 steps) and
// Simple (NCCL_BUFFSIZE, 4 MiB), in pieces of 2 MiB. Source: NVIDIA/nccl, src/transport/p2p.cc (p2pRecvSetup),
// src/init.cc (computeBuffSizes), src/include/device.h. No card has confirmed the range.
#ifndef ONNX_MEM_ANALYZER_DEVICES_COMMUNICATORS_H_
#define ONNX_MEM_ANALYZER_DEVICES_COMMUNICATORS_H_

#include <cstdint>

#include "analyzer/devices/overhead.h"

namespace onnx_mem {

// For one channel and one rank that is received from.
inline constexpr int64_t kConnectionBytes = int64_t{10} << 20;

// What decides how many connections a communicator has.
struct Communicator {
  bool all_reduces = false;  // in a tree beside the ring
  int64_t neighbours = 1;    // of a ring one; of a pipeline's stage those that it exchanges with
};

// The low end, which is what is expected, has the two channels of a ring over PCI Express; the high end has 32 (what
// MAXCHANNELS was until NCCL 2.22; later ones allow 64), with a tree's two more connections where sums are reduced.
Overhead BuffersOf(const Communicator& communicator);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_DEVICES_COMMUNICATORS_H_
