// The form of a model that is run, whatever it was read from: framework operators in order, stored tensors, calls of
// modules (FrameworkNode::calls), and when Python releases each value. Its makers make all assumptions; who runs it
// makes none.
#ifndef ONNX_MEM_ANALYZER_GRAPH_LOWERED_H_
#define ONNX_MEM_ANALYZER_GRAPH_LOWERED_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/framework_graph.h"
#include "analyzer/graph/tensor_kind.h"

namespace onnx_mem {

// Nodes first..last, inclusive.
struct NodeSpan {
  int32_t first = 0;
  int32_t last = 0;
};

// A torch.autograd.Function of the model's code: its forward ran as the nodes of `span`, without autograd, its backward
// runs `backward`.
struct UserFunction {
  std::string name = {};
  NodeSpan span;
  TensorIds saved = {};  // by save_for_backward
  TensorIds held = {};   // by the context's attributes, until the step ends
  std::vector<std::pair<TensorId, TensorId>> gradients_of =
      {};  // (what backward is given, the output that it belongs to)
  std::vector<std::pair<TensorId, TensorId>> gradients_to =
      {};                                    // (what backward returns, the input that it belongs to)
  std::vector<FrameworkNode> backward = {};  // on tensors of the same graph, none of which a node of it makes
  std::vector<TensorIds> dropped = {};       // by node of `backward`: what Python releases behind it
};

// A torch.utils.checkpoint call of the model's code.
struct CheckpointCall {
  NodeSpan span;
  TensorIds arguments = {};  // held for the second run, whether it reads them or not
  bool reentrant = false;    // use_reentrant=True
};

// What a module holds from run to run: `before`, a buffer, from the start until `now` is made.
struct ReplacedTensor {
  TensorId before;
  TensorId now;
};

struct Lowered {
  FrameworkGraph
      graph;  // nodes are framework operators (engine/op_table.h) in the order in which they ran; no dead nodes
  IdVector<TensorId, TensorKind> kinds;
  // Parameters and buffers that no tensor of the graph shows but the module has (a BatchNorm's 8-byte counter): extra
  // static bytes, by category.
  int64_t hidden_buffer_bytes = 0;
  int64_t computed_bytes = 0;          // of buffers that the exporter computed: a mask, a rotary table, position biases
  int64_t unread_parameter_bytes = 0;  // at most, of parameters that the file has not, and that are not counted
  int64_t unread_buffer_bytes = 0;     // the same of buffers
  absl::flat_hash_set<TensorId> frozen;  // parameters that the model itself does not train
  // For each tensor the index of the node after which the last Python reference to it is freed: -1 where no node reads
  // or makes it, the number of nodes where the caller holds it (an output of the model).
  IdVector<TensorId, int32_t> releases;
  std::vector<ReplacedTensor> replaced;
  bool split_logits = false;   // over ranks, which take the loss together: loss_parallel()
  bool training_form = false;  // exported in training mode: its dropouts are in the file
  std::vector<Diagnostic> diagnostics;
  std::vector<Diagnostic> plain_rewrites;  // applied, but known by a check of the file alone
  std::vector<std::string> assumptions;

  // What only a record of the running model tells (analyzer/record). With it nothing of the above is open.
  bool recorded = false;
  bool has_own_casts = false;                   // recorded in the precision that is requested: nothing is left to cast
  absl::flat_hash_map<TensorId, Dims> strides;  // of stored tensors and inputs that are not row-major, in elements
  absl::flat_hash_map<TensorId, TensorId> windows;                      // stored tensors on the storage of another one
  absl::flat_hash_map<TensorId, std::vector<std::string>> other_names;  // of an input or a parameter that is several
  std::vector<UserFunction> functions;                                  // by span, none inside another
  std::vector<CheckpointCall> checkpointed;                             // in order, none inside another
  TensorId loss;  // that the model computes itself; invalid: it computes none
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_GRAPH_LOWERED_H_
