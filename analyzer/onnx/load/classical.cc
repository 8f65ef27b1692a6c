#include "analyzer/onnx/load/classical.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/graph/bytes.h"
#include "analyzer/graph/diagnostic.h"

namespace onnx_mem {
namespace {

// What a network has and nothing around a classical model does.
constexpr auto kLayers =
    std::to_array<std::string_view>({"Attention", "BatchNormalization", "Conv", "ConvTranspose", "Einsum", "GRU",
                                     "Gemm", "LSTM", "LayerNormalization", "MatMul", "RNN"});

// "2 trees of 6 nodes", of all ensembles; "" without any.
std::string TreesText(const onnx::GraphProto& graph) {
  int64_t trees = 0, nodes = 0;
  for (const onnx::NodeProto& node : graph.node()) {
    if (!absl::StartsWith(node.op_type(), "TreeEnsemble")) continue;
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.name() == "nodes_treeids") {
        nodes += attribute.ints_size();
        trees += static_cast<int64_t>(std::set<int64_t>(attribute.ints().begin(), attribute.ints().end()).size());
      }
      if (attribute.name() == "tree_roots") trees += attribute.ints_size();
      if (attribute.name() == "nodes_featureids" && node.op_type() == "TreeEnsemble") nodes += attribute.ints_size();
    }
  }
  if (trees == 0) return "";
  return absl::StrCat(trees, trees == 1 ? " tree of " : " trees of ", nodes, " nodes");
}

// The operators of ai.onnx.ml, each once, of a model without a layer of a network; empty for any other.
std::vector<std::string> ClassicalOperators(const onnx::ModelProto& model) {
  std::vector<std::string> operators;
  for (const onnx::NodeProto& node : model.graph().node()) {
    const bool classical = node.domain() == "ai.onnx.ml";
    if (!classical && std::find(kLayers.begin(), kLayers.end(), node.op_type()) != kLayers.end()) return {};
    const bool known = std::find(operators.begin(), operators.end(), node.op_type()) != operators.end();
    if (classical && !known) operators.push_back(node.op_type());
  }
  return operators;
}

}  // namespace

bool IsClassical(const onnx::ModelProto& model) { return !ClassicalOperators(model).empty(); }

std::optional<Diagnostic> ClassicalNote(const onnx::ModelProto& model, int64_t file_bytes) {
  const std::vector<std::string> operators = ClassicalOperators(model);
  if (operators.empty()) return std::nullopt;
  const std::string trees = TreesText(model.graph());
  Diagnostic note{.code = Code::kNotANetwork, .severity = Severity::kWarning};
  note.bytes = file_bytes;
  note.message =
      absl::StrCat("a classical model, not a network: ", FormatBytes(file_bytes), trees.empty() ? "" : ", " + trees);
  note.details = {absl::StrCat("why: its operators are of ai.onnx.ml: ", absl::StrJoin(operators, ", ")),
                  "why: a session keeps about the size of the file, and a batch adds its rows alone"};
  return note;
}

}  // namespace onnx_mem
