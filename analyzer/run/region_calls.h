// The operator calls of a region (the modules of a segment) in the order of its forward, as plain values: what each
// reads, makes and writes over, what autograd saves. From them follow the second run of a plan, and the choice of what
// to keep.
//
//   call  0 fc:aten.t.default#0            view: its result is on the weight's storage, which is from outside
//         1 fc:aten.addmm.default#0        makes storage 3
//         2 act:aten.relu_.default#0       writes over storage 3: its version is 1 from here on
//   saved by call 2: storage 3 at version 1
#ifndef ONNX_MEM_ANALYZER_RUN_REGION_CALLS_H_
#define ONNX_MEM_ANALYZER_RUN_REGION_CALLS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/run/call_id.h"

namespace onnx_mem {

// The bytes of one storage, however many tensors stand on it.
struct RegionStorage {
  int64_t bytes = 0;
  int32_t maker = -1;      // index of the call that made it; -1: it is from outside
  int8_t output = 0;       // which of the maker's outputs it is
  bool leaves = false;     // what runs behind the region reads it, or the caller holds it: it is there without a plan
  bool parameter = false;  // of the model, or a buffer or an input of it
};

struct StorageVersion {
  int32_t storage = -1;  // index
  int32_t version = 0;   // how often it had been written over within the region
  friend bool operator==(const StorageVersion&, const StorageVersion&) = default;
};

struct RegionCall {
  CallId call;                // counted within its module
  int32_t nth_in_region = 0;  // of its operator: CallId{"", op, nth_in_region} is the same call
  int32_t node = -1;          // of the lowered graph
  // By output, as a flat list of what the operator returns: its storage, -1 where it is no tensor of the device. The
  // result of a view, or of what works in place, is on a storage that it reads.
  std::vector<int32_t> outputs = {};
  std::vector<StorageVersion> reads = {};
  std::vector<int32_t> writes = {};      // storages that it writes over in place
  int32_t first_step = 0, end_step = 0;  // its steps of the enacted program
  int64_t flops = 0;
  int64_t ns = 0;
  bool draws = false;  // random numbers
};

struct SavedStorage {
  int32_t call = -1;  // whose autograd node saves it
  StorageVersion what;
};

struct RegionCalls {
  std::vector<RegionCall> calls;
  std::vector<RegionStorage> storages;
  std::vector<SavedStorage> saved;
};

// What a call is in the second run.
enum class CallState : uint8_t { kAgain, kKept, kSkipped };

// A view makes no storage and writes over none.
bool IsView(const RegionCalls& region, int32_t call);
// It writes over a storage from outside: a BatchNorm's counter.
bool IsEffectful(const RegionCalls& region, int32_t call);

// The calls of `whole` from node `first` to node `last`, counted, numbered and versioned anew.
RegionCalls PartOf(const RegionCalls& whole, int32_t first, int32_t last);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_RUN_REGION_CALLS_H_
