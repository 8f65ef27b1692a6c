// The name of one operator call within a checkpointed segment, as a plan keeps or skips it. It is counted where
// Python's dispatch modes count: below autograd, without detach and what reads metadata alone.
//
//   transformer.h.0.mlp.c_fc:aten.addmm.default#0   the first call of addmm while this module was the innermost
//   aten.addmm.default#4                            the fifth in the whole segment
//   transformer.h.0:aten.native_dropout.default#1[1]   with the outputs that are kept; none: all
#ifndef ONNX_MEM_ANALYZER_RUN_CALL_ID_H_
#define ONNX_MEM_ANALYZER_RUN_CALL_ID_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace onnx_mem {

struct CallId {
  std::string module = {};  // the innermost that runs; "": `nth` counts over the whole segment
  std::string op = {};      // with namespace and overload
  int32_t nth = 0;          // of this operator's calls, from 0
  friend bool operator==(const CallId&, const CallId&) = default;
  template <class H>
  friend H AbslHashValue(H state, const CallId& call) {
    return H::combine(std::move(state), call.module, call.op, call.nth);
  }
};

struct KeptCall {
  CallId call;
  std::vector<int8_t> outputs = {};  // empty: all
  friend bool operator==(const KeptCall&, const KeptCall&) = default;
};

std::string TextOf(const CallId& call);
std::string TextOf(const KeptCall& kept);

// Operators may have short names: "fc:addmm#0", "add.Tensor#1". nullopt: the text is no call.
std::optional<CallId> ParseCallId(std::string_view text);
std::optional<KeptCall> ParseKeptCall(std::string_view text);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_RUN_CALL_ID_H_
