#include "analyzer/onnx/infer/check_nodes.h"

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/onnx/infer/operator_table.h"
#include "analyzer/onnx/infer/schemas.h"

namespace onnx_mem {
namespace {

using Proto = onnx::AttributeProto;

constexpr int64_t kMost = std::numeric_limits<int32_t>::max();  // what frameworks hold such a number in

// What a number, or each of a list, may be.
struct RangeRow {
  std::string_view op;  // "": of every operator
  std::string_view attribute;
  int64_t least, most;
};

constexpr auto kRanges = std::to_array<RangeRow>({
    {"RotaryEmbedding", "num_heads", 0, kMost},  // 0: not said
    {"", "axis", -kMost, kMost},                 // against the rank: misfit.cc, where it is known
    {"", "axes", -kMost, kMost},
    {"", "blocksize", 1, kMost},
    {"", "dilations", 1, kMost},
    {"", "group", 1, kMost},
    {"", "groups", 1, kMost},
    {"", "hidden_size", 1, kMost},
    {"", "kernel_shape", 1, kMost},
    {"", "kv_num_heads", 1, kMost},
    {"", "num_groups", 1, kMost},
    {"", "num_heads", 1, kMost},
    {"", "num_outputs", 1, kMost},
    {"", "output_height", 1, kMost},
    {"", "output_padding", 0, kMost},
    {"", "output_width", 1, kMost},
    {"", "pads", -kMost, kMost},
    {"", "q_num_heads", 1, kMost},
    {"", "strides", 1, kMost},
});

// Of other domains nobody here knows what a name means.
bool IsKnownDomain(const std::string& domain) {
  return domain.empty() || domain == "ai.onnx" || domain == "ai.onnx.ml" || domain == "com.microsoft";
}

const RangeRow* RangeOf(const onnx::NodeProto& node, std::string_view attribute) {
  for (const RangeRow& row : kRanges) {
    if (row.attribute == attribute && (row.op.empty() || row.op == node.op_type())) return &row;
  }
  return nullptr;
}

std::string OutOfRange(const Proto& attribute, const RangeRow& row) {
  const auto fault = [&](int64_t value) {
    return value >= row.least && value <= row.most ? std::string()
                                                   : absl::StrCat(std::string(row.attribute), " is ", value);
  };
  std::string text = attribute.type() == Proto::INT ? fault(attribute.i()) : std::string();
  for (int64_t value : attribute.ints()) {
    if (text.empty()) text = fault(value);
  }
  return text;
}

// Trailing "" are inputs and outputs that are left out.
template <class Names>
int Count(const Names& names) {
  int count = names.size();
  while (count > 0 && names[count - 1].empty()) --count;
  return count;
}

std::string MissingInput(const onnx::NodeProto& node, const onnx::OpSchema& schema) {
  const auto& formal = schema.inputs();
  for (size_t i = 0; i < formal.size() && formal[i].GetOption() == onnx::OpSchema::Single; ++i) {
    const int at = static_cast<int>(i);
    if (at < node.input_size() && !node.input(at).empty()) continue;
    return absl::StrCat("input ", i, " (", formal[i].GetName(), ") is missing");
  }
  return {};
}

std::string WrongNumber(const onnx::NodeProto& node, const onnx::OpSchema& schema) {
  const auto& formal = schema.inputs();
  const int given = Count(node.input());
  const bool variadic = !formal.empty() && formal.back().GetOption() == onnx::OpSchema::Variadic;
  if (variadic && node.input_size() < schema.min_input()) {
    return absl::StrCat("it has ", node.input_size(), " inputs and needs ", schema.min_input());
  }
  const auto beyond = [](int count, const char* what, int most) {
    return absl::StrCat("it has ", count, " ", what, ", and at most ", most, " belong to the operator");
  };
  if (given > schema.max_input()) return beyond(given, "inputs", schema.max_input());
  const int outputs = Count(node.output());
  return outputs > schema.max_output() ? beyond(outputs, "outputs", schema.max_output()) : std::string();
}

bool HoldsGraphs(const Proto& attribute) { return attribute.has_g() || attribute.graphs_size() > 0; }

std::string WrongAttribute(const onnx::NodeProto& node, const onnx::OpSchema& schema) {
  const auto& declared = schema.attributes();
  for (const Proto& attribute : node.attribute()) {
    const auto found = declared.find(attribute.name());
    if (found == declared.end()) {
      // Others are ignored: exporters leave notes of their own.
      if (HoldsGraphs(attribute)) return absl::StrCat("it has no body '", attribute.name(), "'");
      continue;
    }
    const bool graph = found->second.type == Proto::GRAPH;
    const bool fits = graph ? attribute.has_g() && attribute.graphs_size() == 0
                            : !HoldsGraphs(attribute) &&
                                  (attribute.type() == found->second.type || attribute.type() == Proto::UNDEFINED);
    if (fits) continue;
    return absl::StrCat("attribute '", attribute.name(), "' is of type ", Proto::AttributeType_Name(attribute.type()),
                        " instead of ",
                        Proto::AttributeType_Name(static_cast<Proto::AttributeType>(found->second.type)));
  }
  std::string missing;  // the first by name: `declared` has another order with another library
  for (const auto& [name, attribute] : declared) {
    bool given = !attribute.required;
    for (const Proto& own : node.attribute()) given = given || own.name() == name;
    if (!given && (missing.empty() || name < missing)) missing = name;
  }
  return missing.empty() ? missing : absl::StrCat("attribute '", missing, "' is missing");
}

std::string Fault(const onnx::NodeProto& node, const onnx::OpSchema* schema) {
  if (node.op_type().empty()) return "it names no operator";
  if (!IsKnownDomain(node.domain())) return {};
  for (const Proto& attribute : node.attribute()) {
    const RangeRow* row = RangeOf(node, attribute.name());
    if (row == nullptr) continue;
    if (std::string fault = OutOfRange(attribute, *row); !fault.empty()) return fault;
  }
  if (schema == nullptr) return {};
  std::string fault = WrongNumber(node, *schema);
  return fault.empty() ? WrongAttribute(node, *schema) : fault;
}

absl::Status CheckGraph(const onnx::GraphProto& graph, OperatorTable& operators) {
  for (int i = 0; i < graph.node_size(); ++i) {
    const onnx::NodeProto& node = graph.node(i);
    // com.microsoft has no definitions here; inputs that its operators need stand in lower/operators/table.cc.
    const bool defined = IsKnownDomain(node.domain()) && node.domain() != "com.microsoft";
    const onnx::OpSchema* schema = defined ? operators.Of(node).schema : nullptr;
    const std::string missing = schema != nullptr ? MissingInput(node, *schema) : std::string();
    const std::string fault = missing.empty() ? Fault(node, schema) : missing;
    if (!fault.empty()) {
      return ErrorStatus(absl::StatusCode::kInvalidArgument, missing.empty() ? Code::kBadModel : Code::kBadShape,
                         absl::StrCat(NameInGraph(node, i), ": ", fault));
    }
    for (const Proto& attribute : node.attribute()) {
      if (attribute.has_g()) RETURN_IF_ERROR(CheckGraph(attribute.g(), operators));
      for (const onnx::GraphProto& body : attribute.graphs()) RETURN_IF_ERROR(CheckGraph(body, operators));
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::string NameInGraph(const onnx::NodeProto& node, int index) {
  if (!node.name().empty()) return absl::StrCat("node '", node.name(), "' (", node.op_type(), ")");
  return absl::StrCat("node #", index, " (", node.op_type(), ")");
}

absl::Status CheckNodes(const onnx::ModelProto& model) {
  OperatorTable operators(model);
  return CheckGraph(model.graph(), operators);
}

}  // namespace onnx_mem
