// The name of one operator call within a checkpointed segment, as a plan keeps or skips it. It is counted where
// Python's dispatch modes count: below autograd, without detach and what reads metadata alone.
//
//   transformer.h.0.mlp.c_fc:aten.addmm.default#0   the first call of addmm while this module was the innermost
//   aten.addmm.default#4                            the fifth in the whole segment
//   transformer.h.0:aten.native_dropout.default#1[1]   with the outputs that are kept; none: all
#ifndef ONNX_MEM_ANALYZER_RUN_CALL_ID_H_
#define ONNX_MEM_ANALYZER_RUN_CALL_ID_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "analyzer/graph/absl_view.h"

namespace onnx_mem {

struct CallId {
  std::string module = {};  // the innermost that runs; "": `nth` counts over the whole segment
  std::string op;           // with namespace and overload
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

inline std::string TextOf(const CallId& call) {
  return absl::StrCat(call.module, call.module.empty() ? "" : ":", call.op, "#", call.nth);
}

inline std::string TextOf(const KeptCall& kept) {
  if (kept.outputs.empty()) return TextOf(kept.call);
  const auto number = [](std::string* text, int8_t output) { absl::StrAppend(text, static_cast<int>(output)); };
  return absl::StrCat(TextOf(kept.call), "[", absl::StrJoin(kept.outputs, ",", number), "]");
}

// nullopt: the text is no call.
inline std::optional<CallId> ParseCallId(std::string_view text) {
  const size_t hash = text.rfind('#');
  if (hash == std::string_view::npos) return std::nullopt;
  CallId call;
  if (!absl::SimpleAtoi(View(text.substr(hash + 1)), &call.nth) || call.nth < 0) return std::nullopt;
  const std::string_view name = text.substr(0, hash);
  const size_t colon = name.rfind(':');
  if (colon != std::string_view::npos) call.module = name.substr(0, colon);
  call.op = colon == std::string_view::npos ? name : name.substr(colon + 1);
  if (call.op.empty() || colon == 0) return std::nullopt;
  return call;
}

inline std::optional<KeptCall> ParseKeptCall(std::string_view text) {
  KeptCall kept;
  const size_t bracket = text.ends_with(']') ? text.rfind('[') : std::string_view::npos;
  if (bracket != std::string_view::npos) {
    const std::string_view list = text.substr(bracket + 1, text.size() - bracket - 2);
    for (const std::string& item : std::vector<std::string>(absl::StrSplit(View(list), ','))) {
      int number = 0;
      if (!absl::SimpleAtoi(item, &number) || number < 0 || number > std::numeric_limits<int8_t>::max())
        return std::nullopt;
      kept.outputs.push_back(static_cast<int8_t>(number));
    }
    text = text.substr(0, bracket);
  }
  const std::optional<CallId> call = ParseCallId(text);
  if (!call) return std::nullopt;
  kept.call = *call;
  return kept;
}

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_RUN_CALL_ID_H_
