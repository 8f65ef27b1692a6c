#include "analyzer/onnx/build/unroll.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analyzer/onnx/infer/body.h"
#include "analyzer/onnx/load/renaming.h"
#include "analyzer/run/limits.h"

namespace onnx_mem {
namespace {

// Operators of nn.EmbeddingBag, which the TorchScript exporter writes as a loop: it stays one (operators/control.cc).
constexpr auto kBagOperators = std::to_array<std::string_view>(
    {"Cast", "Constant", "Gather", "Mul", "ReduceMax", "ReduceMean", "ReduceSum", "Slice", "Unsqueeze"});

bool LooksUpBags(const onnx::NodeProto& loop, const onnx::GraphProto& body) {
  if (loop.op_type() != "Loop" || body.input_size() != 2 || body.output_size() != 2) return false;
  return std::all_of(body.node().begin(), body.node().end(), [](const onnx::NodeProto& node) {
    return std::find(kBagOperators.begin(), kBagOperators.end(), node.op_type()) != kBagOperators.end();
  });
}

std::vector<int64_t> Ints(const onnx::NodeProto& node, std::string_view name, size_t count) {
  std::vector<int64_t> values(count, 0);
  for (const auto& attribute : node.attribute()) {
    if (attribute.name() != name) continue;
    for (int i = 0; i < attribute.ints_size() && static_cast<size_t>(i) < count; ++i) {
      values[static_cast<size_t>(i)] = attribute.ints(i);
    }
  }
  return values;
}

int64_t Opset(const onnx::ModelProto& model) {
  int64_t version = 1;
  for (const auto& import : model.opset_import()) {
    if (import.domain().empty() || import.domain() == "ai.onnx") version = import.version();
  }
  return version;
}

class Unroller {
 public:
  Unroller(onnx::ModelProto& model, const InferredGraph& facts)
      : graph_(*model.mutable_graph()), facts_(facts), renamer_(graph_), opset_(Opset(model)) {}

  bool Run() {
    google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
    nodes.Swap(graph_.mutable_node());
    int64_t left = limits::kUnrolledNodes, bytes_left = limits::kUnrolledBytes;
    bool any = false;
    for (int i = 0; i < nodes.size(); ++i) {
      const int64_t trips =
          static_cast<size_t>(i) < facts_.nodes.size() ? facts_.nodes[static_cast<size_t>(i)].trip_count : -1;
      if (MayUnroll(nodes[i], trips, left, bytes_left)) {
        Unroll(nodes[i], trips);
        any = true;
      } else {
        graph_.add_node()->Swap(&nodes[i]);
      }
    }
    return any;
  }

 private:
  bool MayUnroll(const onnx::NodeProto& node, int64_t trips, int64_t& left, int64_t& bytes_left) const {
    if (!node.domain().empty() || (node.op_type() != "Loop" && node.op_type() != "Scan") || trips < 1) return false;
    if (node.op_type() == "Scan" && opset_ < 9) return false;  // with a batch axis in front
    const Body body = FindBody(node, "body");
    if (body.graph == nullptr || LooksUpBags(node, *body.graph)) return false;
    const int64_t nodes = CountNodes(*body.graph) + 1;
    if (trips > left / nodes) return false;
    const auto bytes = static_cast<int64_t>(body.graph->ByteSizeLong() + node.name().size()) + 1;
    if (trips > bytes_left / bytes) return false;
    left -= trips * nodes;
    bytes_left -= trips * bytes;
    return true;
  }

  // A constant tensor of one element, [] or [1].
  std::string Number(const std::string& name, int64_t value, bool boolean = false, bool vector = false) {
    onnx::NodeProto& node = *graph_.add_node();
    node.set_op_type("Constant");
    node.add_output(renamer_.Fresh(name));
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name("value");
    attribute.set_type(onnx::AttributeProto::TENSOR);
    onnx::TensorProto& tensor = *attribute.mutable_t();
    if (vector) tensor.add_dims(1);
    tensor.set_data_type(boolean ? onnx::TensorProto::BOOL : onnx::TensorProto::INT64);
    if (boolean) {
      tensor.add_int32_data(static_cast<int32_t>(value));
    } else {
      tensor.add_int64_data(value);
    }
    return node.output(0);
  }

  onnx::NodeProto& AddNode(std::string_view op, const std::string& name, std::vector<std::string> inputs,
                           const std::string& output) {
    onnx::NodeProto& node = *graph_.add_node();
    node.set_op_type(std::string(op));
    node.set_name(name);
    for (std::string& input : inputs) node.add_input(std::move(input));
    node.add_output(output);
    return node;
  }

  static void SetInt(onnx::NodeProto& node, const std::string& name, int64_t value) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(value);
  }

  // The body once, under names of its own; `inputs` stand for its inputs in order. Its outputs in order.
  std::vector<std::string> Iterate(const onnx::NodeProto& loop, const onnx::GraphProto& body, const ValueNames& stored,
                                   const std::vector<std::string>& inputs, int64_t trip) {
    ValueNames names = stored;
    for (int i = 0; i < body.input_size() && static_cast<size_t>(i) < inputs.size(); ++i) {
      names[body.input(i).name()] = inputs[static_cast<size_t>(i)];
    }
    for (const onnx::NodeProto& inner : body.node()) {
      for (const std::string& output : inner.output()) {
        if (!output.empty()) names[output] = renamer_.Fresh(absl::StrCat(output, "_", trip));
      }
    }
    for (const onnx::NodeProto& inner : body.node()) {
      onnx::NodeProto& node = *graph_.add_node();
      node = inner;
      node.set_name(absl::StrCat(inner.name().empty() ? loop.name() : inner.name(), "_", trip));
      renamer_.Rename(node, names);
    }
    std::vector<std::string> outputs;
    for (const auto& output : body.output()) {
      const auto name = names.find(output.name());
      outputs.push_back(name == names.end() ? output.name() : name->second);
    }
    return outputs;
  }

  // What a body stores is stored once.
  ValueNames Store(const onnx::GraphProto& body) {
    ValueNames names;
    for (const onnx::TensorProto& tensor : body.initializer()) {
      onnx::TensorProto& copy = *graph_.add_initializer();
      copy = tensor;
      copy.set_name(renamer_.Fresh(tensor.name()));
      names[tensor.name()] = copy.name();
    }
    return names;
  }

  // `parts` along a new axis.
  void Stack(const onnx::NodeProto& loop, const std::vector<std::string>& parts, int64_t axis,
             const std::string& output) {
    std::vector<std::string> wide;
    for (const std::string& part : parts) {
      const std::string name = renamer_.Fresh(absl::StrCat(part, "_slice"));
      if (opset_ >= 13) {
        const std::string axes = Number(absl::StrCat(name, "_axis"), axis, false, /*vector=*/true);
        AddNode("Unsqueeze", loop.name(), {part, axes}, name);
      } else {
        onnx::AttributeProto& attribute = *AddNode("Unsqueeze", loop.name(), {part}, name).add_attribute();
        attribute.set_name("axes");
        attribute.set_type(onnx::AttributeProto::INTS);
        attribute.add_ints(axis);
      }
      wide.push_back(name);
    }
    SetInt(AddNode("Concat", loop.name(), wide, output), "axis", axis);
  }

  void Unroll(const onnx::NodeProto& node, int64_t trips) {
    const onnx::GraphProto& body = *FindBody(node, "body").graph;
    const bool is_scan = node.op_type() == "Scan";
    int64_t scanned = 0;
    for (const auto& attribute : node.attribute()) {
      if (attribute.name() == "num_scan_inputs") scanned = attribute.i();
    }
    const int first = is_scan ? 0 : 2;
    const auto states = static_cast<size_t>(std::max<int64_t>(node.input_size() - first - (is_scan ? scanned : 0), 0));
    std::vector<std::string> state(
        node.input().begin() + std::min(first, node.input_size()),
        node.input().begin() + std::min(first + static_cast<int>(states), node.input_size()));
    const size_t kept = is_scan ? 0 : 1;  // a loop's body gives its condition first
    if (static_cast<size_t>(body.output_size()) < kept + states) {
      *graph_.add_node() = node;
      return;
    }
    const size_t slices = static_cast<size_t>(body.output_size()) - kept - states;
    const ValueNames stored = Store(body);
    std::string condition = !is_scan && node.input_size() > 1 ? node.input(1) : "";
    if (!is_scan && condition.empty()) condition = Number(absl::StrCat(node.name(), "_goes_on"), 1, /*boolean=*/true);
    std::vector<std::vector<std::string>> parts(slices);
    for (int64_t trip = 0; trip < trips; ++trip) {
      std::vector<std::string> inputs = state;
      if (is_scan) {
        AddSlices(node, states, scanned, trip, trips, inputs);
      } else {
        inputs.insert(inputs.begin(), {Number(absl::StrCat(node.name(), "_trip_", trip), trip), condition});
      }
      const std::vector<std::string> outputs = Iterate(node, body, stored, inputs, trip);
      if (!is_scan) condition = outputs[0];
      std::copy_n(outputs.begin() + static_cast<int64_t>(kept), states, state.begin());
      for (size_t i = 0; i < slices; ++i) parts[i].push_back(outputs[kept + states + i]);
    }
    Finish(node, is_scan, state, std::move(parts));
  }

  // Slice `trip` of each scanned input.
  void AddSlices(const onnx::NodeProto& node, size_t states, int64_t scanned, int64_t trip, int64_t trips,
                 std::vector<std::string>& inputs) {
    const auto count = static_cast<size_t>(scanned);
    const std::vector<int64_t> axes = Ints(node, "scan_input_axes", count);
    const std::vector<int64_t> backward = Ints(node, "scan_input_directions", count);
    for (size_t i = 0; i < count; ++i) {
      const std::string& whole = node.input(static_cast<int>(states + i));
      const std::string slice = renamer_.Fresh(absl::StrCat(whole, "_", trip));
      const std::string at = Number(absl::StrCat(slice, "_at"), backward[i] != 0 ? trips - 1 - trip : trip);
      SetInt(AddNode("Gather", node.name(), {whole, at}, slice), "axis", axes[i]);
      inputs.push_back(slice);
    }
  }

  // The loop's outputs: the last state, and what was made in each iteration, joined.
  void Finish(const onnx::NodeProto& node, bool is_scan, const std::vector<std::string>& state,
              std::vector<std::vector<std::string>> parts) {
    const std::vector<int64_t> axes = Ints(node, "scan_output_axes", parts.size());
    const std::vector<int64_t> backward = Ints(node, "scan_output_directions", parts.size());
    for (int i = 0; i < node.output_size(); ++i) {
      if (node.output(i).empty()) continue;
      const auto at = static_cast<size_t>(i);
      if (at < state.size()) {
        AddNode("Identity", node.name(), {state[at]}, node.output(i));
      } else if (at - state.size() < parts.size()) {
        std::vector<std::string>& own = parts[at - state.size()];
        if (is_scan && backward[at - state.size()] != 0) std::reverse(own.begin(), own.end());
        Stack(node, own, is_scan ? axes[at - state.size()] : 0, node.output(i));
      }
    }
  }

  onnx::GraphProto& graph_;
  const InferredGraph& facts_;
  Renamer renamer_;
  int64_t opset_;
};

}  // namespace

std::unique_ptr<onnx::ModelProto> UnrollLoops(const onnx::ModelProto& model, const InferredGraph& facts) {
  const auto& nodes = model.graph().node();
  const bool any = std::any_of(nodes.begin(), nodes.end(), [](const onnx::NodeProto& node) {
    return node.op_type() == "Loop" || node.op_type() == "Scan";
  });
  if (!any) return nullptr;
  auto copy = std::make_unique<onnx::ModelProto>(model);
  return Unroller(*copy, facts).Run() ? std::move(copy) : nullptr;
}

}  // namespace onnx_mem
