#include "analyzer/devices/communicators.h"

namespace onnx_mem {
namespace {

constexpr int64_t kFifoSteps = 8;                            // NCCL_STEPS
constexpr int64_t kLlBytes = 8 * 512 * 16 * kFifoSteps;      // NCCL_LL_LINES_PER_THREAD, NCCL_LL_MAX_NTHREADS
constexpr int64_t kLl128Bytes = 120 * 640 * 8 * kFifoSteps;  // NCCL_LL128_ELEMS_PER_THREAD, NCCL_LL128_MAX_NTHREADS
constexpr int64_t kSimpleBytes = int64_t{1} << 22;           // DEFAULT_BUFFSIZE
constexpr int64_t kPieceBytes = int64_t{1} << 21;            // CUDA_IPC_MIN
constexpr int64_t kFewestChannels = 2, kMostChannels = 32;
constexpr int64_t kTreeConnections = 2;  // within a machine a tree is a chain: up and down

static_assert(kConnectionBytes ==
              (kLlBytes + kLl128Bytes + kSimpleBytes + kPieceBytes - 1) / kPieceBytes * kPieceBytes);

}  // namespace

Overhead BuffersOf(const Communicator& communicator) {
  const int64_t low = kFewestChannels * communicator.neighbours * kConnectionBytes;
  const int64_t most = communicator.neighbours + (communicator.all_reduces ? kTreeConnections : 0);
  return {.bytes = low, .low_bytes = low, .high_bytes = kMostChannels * most * kConnectionBytes};
}

}  // namespace onnx_mem
