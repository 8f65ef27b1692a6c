// Model-local functions: every call replaced by the function's nodes, so that their tensors are seen and counted.
//
//   y = my.Act[alpha=2](x)  (node "/block/act")   with   Act<alpha>(a) => b { t = Mul(a, a)  b = Elu[@alpha](t) }
//   "/block/act/t" = Mul(x, x)   y = Elu[alpha=2]("/block/act/t")
//
// Written here, not left to the ONNX library's inliner: that one names nodes by a running suffix, drops the call's
// metadata (the exporter's module scopes), and skips functions of another opset.
#ifndef ONNX_MEM_ANALYZER_ONNX_LOAD_FUNCTIONS_H_
#define ONNX_MEM_ANALYZER_ONNX_LOAD_FUNCTIONS_H_

#include <cstdint>
#include <set>
#include <string>

#include "absl/status/statusor.h"

namespace onnx {
class ModelProto;
}  // namespace onnx

namespace onnx_mem {

struct InlinedFunctions {
  int64_t calls = 0;
  std::set<std::string> other_opset;  // functions written for another opset than the model's, which is now used
};

// Inlines all calls, those in bodies and functions included, and empties the model's list of functions.
// Errors (InvalidArgument, bad-model): a function that calls itself; too-large: more than limits.h allows.
absl::StatusOr<InlinedFunctions> InlineFunctions(onnx::ModelProto& model);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_LOAD_FUNCTIONS_H_
