// Which values are wished to follow the batch, and what their makers granted to that end: a wish for what a node makes
// becomes wishes for its operands, up to what the file stores.
#ifndef ONNX_MEM_ANALYZER_ONNX_REBATCH_WISHES_H_
#define ONNX_MEM_ANALYZER_ONNX_REBATCH_WISHES_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "analyzer/onnx/rebatch/scaling_hook.h"

namespace onnx_mem {

class Wishes {
 public:
  // `traces`: what is known to be scaled by now. All outlive this.
  Wishes(const onnx::GraphProto& graph, const InferredGraph& base, const Variables& variables, const TraceMap& traces);

  // Wishes that whatever makes `name` scales it: its producer, and that one's operands in turn. Error: a Refusal.
  absl::Status Wish(const std::string& name, const Traces& traces, int reader, Ones ones);
  // Wishes and, where that is refused, takes everything back.
  bool TryWish(const std::string& name, const Traces& traces, int reader, Ones ones);

  bool IsMade(const std::string& name) const { return makers_.contains(name); }  // by a node
  bool IsComputed(const std::string& name) const;                                // by a node that is no Constant
  Operand OperandOf(const std::string& name) const;                              // at the exported sizes

  const TraceMap& all() const { return wishes_; }
  const absl::flat_hash_map<int, std::vector<ContentsEdit>>& grants() const { return grants_; }  // by node
  bool any_new() const { return new_; }
  void ForgetNew() { new_ = false; }

 private:
  absl::Status AskMaker(int node, int output, const Traces& wanted, int reader, Ones ones);

  const onnx::GraphProto& graph_;
  const InferredGraph& base_;
  const Variables& variables_;
  const TraceMap& traces_;
  absl::flat_hash_set<std::string> graph_inputs_;
  absl::flat_hash_map<std::string, std::pair<int, int>> makers_;  // node and which of its outputs
  TraceMap wishes_;
  absl::flat_hash_map<int, std::vector<ContentsEdit>> grants_;
  absl::flat_hash_set<std::pair<std::string, int>> denied_;  // value and Ones
  bool new_ = false;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_REBATCH_WISHES_H_
