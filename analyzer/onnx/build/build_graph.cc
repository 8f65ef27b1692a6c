#include "analyzer/onnx/build/build_graph.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "analyzer/exported/source_trace.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/onnx/build/graph_signature.h"
#include "analyzer/onnx/build/named_tensors.h"
#include "analyzer/onnx/infer/schemas.h"
#include "analyzer/onnx/read/short_name.h"
#include "analyzer/onnx/read/tensor_literal.h"
#include "onnx/onnx_pb.h"

namespace onnx_mem {
namespace {

constexpr int64_t kLiteralElements = 8192;

// The operator version that the model's opset selects, looked up once per operator.
class Versions {
 public:
  explicit Versions(const onnx::ModelProto& model) {
    for (const auto& import : model.opset_import()) {
      opsets_[import.domain() == "ai.onnx" ? "" : import.domain()] = static_cast<int>(import.version());
    }
  }
  int Opset(const std::string& domain) const {  // 0: not imported
    const auto opset = opsets_.find(domain);
    return opset == opsets_.end() ? 0 : opset->second;
  }
  int SinceVersion(const std::string& domain, const std::string& op) {
    const auto [it, fresh] = since_.emplace(std::make_pair(domain, op), 0);
    if (!fresh) return it->second;
    const int opset = Opset(domain);
    if (opset == 0) return 0;
    const onnx::OpSchema* schema = Schemas::Instance().GetSchema(op, opset, domain);
    return it->second = schema == nullptr ? 0 : schema->since_version();
  }

 private:
  absl::flat_hash_map<std::string, int> opsets_;
  absl::flat_hash_map<std::pair<std::string, std::string>, int> since_;
};

std::optional<Attribute> AttributeOf(const onnx::AttributeProto& attribute) {
  using Proto = onnx::AttributeProto;
  switch (attribute.type()) {
    case Proto::INT: return Attribute(attribute.i());
    case Proto::FLOAT: return Attribute(static_cast<double>(attribute.f()));
    case Proto::STRING: return Attribute(attribute.s());
    case Proto::INTS: return Attribute(std::vector<int64_t>(attribute.ints().begin(), attribute.ints().end()));
    case Proto::FLOATS: return Attribute(std::vector<double>(attribute.floats().begin(), attribute.floats().end()));
    case Proto::STRINGS:
      return Attribute(std::vector<std::string>(attribute.strings().begin(), attribute.strings().end()));
    case Proto::TENSOR:
      if (LiteralPtr value = LiteralOf(attribute.t(), kLiteralElements)) return Attribute(std::move(value));
      return std::nullopt;
    default: return std::nullopt;  // graphs are bodies; sparse tensors and types tell nothing about memory
  }
}

struct BodyProto {
  const onnx::GraphProto* graph = nullptr;
  const InferredGraph* facts = nullptr;
};

// Bodies of `node`, in attribute order, which is the order of NodeFact::taken_body.
std::vector<BodyProto> BodiesOf(const onnx::NodeProto& node, const InferredGraph& facts, int index) {
  std::vector<BodyProto> bodies;
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g()) bodies.push_back({&attribute.g(), nullptr});
    for (const auto& graph : attribute.graphs()) bodies.push_back({&graph, nullptr});
  }
  if (static_cast<size_t>(index) < facts.bodies.size()) {
    const auto& inferred = facts.bodies[static_cast<size_t>(index)];
    for (size_t i = 0; i < bodies.size() && i < inferred.size(); ++i) bodies[i].facts = &inferred[i];
  }
  return bodies;
}

// The nodes of one GraphProto, written behind those that the graph has.
class NodeWriter {
 public:
  NodeWriter(const onnx::GraphProto& proto, const InferredGraph& facts, Graph& graph, NodeWriter* outer,
             Versions& versions)
      : proto_(proto),
        facts_(facts),
        graph_(graph),
        names_(proto, facts, graph, outer != nullptr ? &outer->names_ : nullptr),
        versions_(versions) {}

  // `rewrites` of this graph's nodes.
  void AddAll(const std::vector<InputRewrite>& rewrites = {});

 private:
  void AddNode(int index);
  void AddBodies(const onnx::NodeProto& proto, int index, Node& node);
  void AddBranch(const onnx::NodeProto& proto, const BodyProto& branch);
  void AddIdentity(const onnx::NodeProto& at, TensorId from, const std::string& name);
  void Rewrite(const InputRewrite& rewrite, Node& node);
  TensorId AddLiteral(const std::string& name, LiteralPtr value);

  const onnx::GraphProto& proto_;
  const InferredGraph& facts_;
  Graph& graph_;
  NamedTensors names_;
  Versions& versions_;
  absl::flat_hash_map<int, std::vector<const InputRewrite*>> rewrites_;
};

void NodeWriter::AddAll(const std::vector<InputRewrite>& rewrites) {
  for (const InputRewrite& rewrite : rewrites) rewrites_[rewrite.node].push_back(&rewrite);
  names_.Reserve(facts_.values.size());
  names_.AddInputs();
  names_.AddInitializers();
  for (int i = 0; i < proto_.node_size(); ++i) AddNode(i);
  names_.AddOutputs();
  LinkTensors(graph_);
}

void NodeWriter::AddNode(int index) {
  const onnx::NodeProto& proto = proto_.node(index);
  const NodeFact fact =
      static_cast<size_t>(index) < facts_.nodes.size() ? facts_.nodes[static_cast<size_t>(index)] : NodeFact();
  if (fact.taken_body >= 0) {
    const std::vector<BodyProto> bodies = BodiesOf(proto, facts_, index);
    const auto taken = static_cast<size_t>(fact.taken_body);
    if (taken < bodies.size() && bodies[taken].facts != nullptr) return AddBranch(proto, bodies[taken]);
  }
  Node node;
  node.name = ShortName(proto.name());
  node.op = proto.op_type();
  node.domain = proto.domain() == "ai.onnx" ? "" : proto.domain();
  node.since_version = versions_.SinceVersion(node.domain, node.op);
  node.shapes_assumed = fact.assumed;
  for (const std::string& input : proto.input()) node.inputs.push_back(names_.Find(input));
  for (const auto& attribute : proto.attribute()) {
    if (auto value = AttributeOf(attribute)) node.attributes.emplace(attribute.name(), *std::move(value));
  }
  for (const auto& entry : proto.metadata_props()) {
    if (entry.key() == kExportedTrace) {
      node.source_trace = std::make_shared<const std::string>(entry.value());
    } else {
      node.metadata.emplace(entry.key(), entry.value());
    }
  }
  if (const auto it = rewrites_.find(index); it != rewrites_.end()) {
    for (const InputRewrite* rewrite : it->second) Rewrite(*rewrite, node);
  }
  AddBodies(proto, index, node);
  const TensorRole role =
      node.domain.empty() && node.op == "Constant" ? TensorRole::kConstant : TensorRole::kActivation;
  for (const std::string& output : proto.output()) {
    node.outputs.push_back(output.empty() ? TensorId() : names_.Define(output, role));
  }
  graph_.nodes.Add(std::move(node));
}

void NodeWriter::AddBodies(const onnx::NodeProto& proto, int index, Node& node) {
  static const InferredGraph kNothing;
  const std::vector<BodyProto> bodies = BodiesOf(proto, facts_, index);
  for (const BodyProto& body : bodies) {
    auto graph = std::make_shared<Graph>();
    NodeWriter inner(*body.graph, body.facts != nullptr ? *body.facts : kNothing, *graph, this, versions_);
    inner.AddAll();
    for (TensorId captured : inner.names_.captures()) {
      if (std::find(node.captures.begin(), node.captures.end(), captured) == node.captures.end()) {
        node.captures.push_back(captured);
      }
    }
    node.subgraphs.push_back(std::move(graph));
  }
  // The file may name else_branch first.
  if (node.op != "If" || node.subgraphs.size() != 2) return;
  const auto first = std::find_if(proto.attribute().begin(), proto.attribute().end(),
                                  [](const onnx::AttributeProto& attribute) { return attribute.has_g(); });
  if (first != proto.attribute().end() && first->name() == "else_branch") {
    std::swap(node.subgraphs[0], node.subgraphs[1]);
  }
}

// Writes the branch's nodes in the place of the If; what the branch returns takes the If's names.
void NodeWriter::AddBranch(const onnx::NodeProto& proto, const BodyProto& branch) {
  NodeWriter inner(*branch.graph, *branch.facts, graph_, this, versions_);
  inner.names_.AddInitializers();
  const TensorId first_own = graph_.tensors.next_id();
  for (int i = 0; i < branch.graph->node_size(); ++i) inner.AddNode(i);
  for (int i = 0; i < proto.output_size() && i < branch.graph->output_size(); ++i) {
    const std::string& name = proto.output(i);
    if (name.empty()) continue;
    const TensorId made = inner.names_.Find(branch.graph->output(i).name());
    if (!made.valid()) continue;
    const bool own = made >= first_own && graph_.tensors[made].role != TensorRole::kInitializer;
    const bool named = std::any_of(proto.output().begin(), proto.output().begin() + i,
                                   [&](const std::string& earlier) { return names_.Find(earlier) == made; });
    if (own && !named) {
      names_.Rename(made, name);
    } else {
      AddIdentity(proto, made, name);
    }
  }
}

void NodeWriter::AddIdentity(const onnx::NodeProto& at, TensorId from, const std::string& name) {
  Node node;
  node.name = absl::StrCat(at.name(), "/", name);
  node.op = "Identity";
  node.since_version = versions_.SinceVersion("", node.op);
  node.inputs = {from};
  const TensorId to = names_.Define(name, TensorRole::kActivation);
  Tensor& tensor = graph_.tensors[to];
  const Tensor& source = graph_.tensors[from];
  tensor.dtype = source.dtype;
  tensor.shape = source.shape;
  tensor.value = source.value;
  tensor.upper_bound = source.upper_bound;
  node.outputs = {to};
  graph_.nodes.Add(std::move(node));
}

TensorId NodeWriter::AddLiteral(const std::string& name, LiteralPtr value) {
  Tensor tensor;
  tensor.dtype = value->dtype;
  tensor.shape = Shape(value->dims);
  tensor.role = TensorRole::kInitializer;
  tensor.value = std::move(value);
  graph_.initializers.push_back(names_.AddMade(name, std::move(tensor)));
  return graph_.initializers.back();
}

void NodeWriter::Rewrite(const InputRewrite& rewrite, Node& node) {
  TensorId& operand = node.inputs[static_cast<size_t>(rewrite.input)];
  const std::string name = graph_.tensors[operand].name;
  if (rewrite.contents != nullptr) {
    operand = AddLiteral(absl::StrCat(name, "/rebatched"), rewrite.contents);
    return;
  }
  Literal target{.dtype = DType::kInt64, .dims = {static_cast<int64_t>(rewrite.expanded->rank())}, .data = {}};
  target.data = std::vector<int64_t>(rewrite.expanded->dims.begin(), rewrite.expanded->dims.end());
  Node expand;
  expand.name = absl::StrCat(node.name, "/Expand");
  expand.op = "Expand";
  expand.since_version = versions_.SinceVersion("", expand.op);
  expand.metadata = node.metadata;
  expand.inputs = {operand,
                   AddLiteral(absl::StrCat(name, "/batch"), std::make_shared<const Literal>(std::move(target)))};
  Tensor expanded;
  expanded.dtype = graph_.tensors[operand].dtype;
  expanded.shape = *rewrite.expanded;
  operand = names_.AddMade(absl::StrCat(name, "/expanded"), std::move(expanded));
  expand.outputs = {operand};
  graph_.nodes.Add(std::move(expand));
}

}  // namespace

absl::StatusOr<Graph> BuildGraph(const onnx::ModelProto& model, const InferredGraph& facts,
                                 const std::vector<InputRewrite>& rewrites) {
  Graph graph;
  Versions versions(model);
  graph.opset = versions.Opset("");
  graph.nodes.reserve(static_cast<size_t>(model.graph().node_size()));
  graph.tensors.reserve(facts.values.size());
  NodeWriter(model.graph(), facts, graph, nullptr, versions).AddAll(rewrites);
  for (const auto& entry : model.graph().metadata_props()) {
    if (entry.key() != kGraphSignature) continue;
    graph.signature = ProgramSignature::Parse(entry.value());
    MarkLostParameters(graph);
  }
  return graph;
}

}  // namespace onnx_mem
