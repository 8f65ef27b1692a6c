#include "analyzer/onnx/read/kept_logits.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "onnx/onnx_pb.h"

namespace onnx_mem {
namespace {

constexpr auto kNames = std::to_array<std::string_view>({"logits_to_keep", "num_logits_to_keep"});

bool IsNumber(const onnx::ValueInfoProto& input) {
  const bool named = std::find(kNames.begin(), kNames.end(), input.name()) != kNames.end();
  return named && input.type().has_tensor_type() && input.type().tensor_type().has_shape() &&
         input.type().tensor_type().shape().dim().empty();
}

// Picks among positions, [batch, position, width], by the input `name`.
bool PicksPosition(const onnx::NodeProto& node, const std::string& name) {
  if (node.op_type() != "Gather" || node.input_size() != 2 || node.input(1) != name) return false;
  return std::any_of(node.attribute().begin(), node.attribute().end(),
                     [](const onnx::AttributeProto& a) { return a.name() == "axis" && a.i() == 1; });
}

}  // namespace

std::optional<Diagnostic> KeepAllLogits(onnx::ModelProto& model) {
  onnx::GraphProto& graph = *model.mutable_graph();
  const auto input = std::find_if(graph.input().begin(), graph.input().end(), IsNumber);
  if (input == graph.input().end()) return std::nullopt;
  const std::string name = input->name();
  onnx::NodeProto* picks = nullptr;
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    if (std::find(node.input().begin(), node.input().end(), name) == node.input().end()) continue;
    if (picks != nullptr || !PicksPosition(node, name)) return std::nullopt;
    picks = &node;
  }
  if (picks == nullptr) return std::nullopt;
  // [batch, position, width] -> [batch * position, width], of as many dimensions as what the file continues with.
  picks->set_op_type("Flatten");
  picks->mutable_input()->RemoveLast();
  for (onnx::AttributeProto& attribute : *picks->mutable_attribute()) {
    if (attribute.name() == "axis") attribute.set_i(2);
  }
  graph.mutable_input()->DeleteSubrange(static_cast<int>(input - graph.input().begin()), 1);
  Diagnostic note{.code = Code::kKeptLogits, .severity = Severity::kNote, .count = 1};
  note.message = absl::StrCat("logits of all positions are counted: '", name, "' is 0 where a model runs as usual");
  note.details.push_back("why: the tracer made an index of the number, and the file picks one position");
  return note;
}

}  // namespace onnx_mem
