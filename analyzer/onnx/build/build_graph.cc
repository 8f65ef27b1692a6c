#include "analyzer/onnx/build/build_graph.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "analyzer/exported/source_trace.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/onnx/build/bind.h"
#include "analyzer/onnx/build/graph_signature.h"
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

// One GraphProto being written into a Graph: its own, or (a branch that always runs) the one around it.
class Scope {
 public:
  Scope(const onnx::GraphProto& proto, const InferredGraph& facts, Graph& graph, Scope* outer, Versions& versions)
      : proto_(proto), facts_(facts), graph_(graph), outer_(outer), versions_(versions) {}

  void AddInputs();
  void AddInitializers();
  void AddNodes();
  void AddOutputs();
  // The tensor called `name` here or further out; an invalid id for "" and for what is nowhere.
  TensorId Find(const std::string& name);
  void Reserve(size_t names) { ids_.reserve(names); }
  // Rewrites of this graph's nodes.
  void UseRewrites(const std::vector<InputRewrite>& rewrites) {
    for (const InputRewrite& rewrite : rewrites) rewrites_[rewrite.node].push_back(&rewrite);
  }
  const TensorIds& captures() const { return captures_; }

 private:
  Tensor MakeTensor(const std::string& name, TensorRole role) const;
  TensorId Define(const std::string& name, TensorRole role);
  void AddNode(int index);
  void AddBodies(const onnx::NodeProto& proto, int index, Node& node);
  void AddBranch(const onnx::NodeProto& proto, const BodyProto& branch);
  void AddIdentity(const onnx::NodeProto& at, TensorId from, const std::string& name);
  void Rewrite(const InputRewrite& rewrite, Node& node);
  TensorId AddLiteral(const std::string& name, LiteralPtr value);
  bool SharesGraph() const { return outer_ != nullptr && &outer_->graph_ == &graph_; }
  std::string UniqueName(const std::string& name);

  const onnx::GraphProto& proto_;
  const InferredGraph& facts_;
  Graph& graph_;
  Scope* outer_;
  Versions& versions_;
  absl::flat_hash_map<absl::string_view, TensorId> ids_;  // keys live in the proto, or in made_names_
  std::deque<std::string> made_names_;
  absl::flat_hash_map<std::string, int64_t> last_;  // name -> the number behind it that was given out last
  TensorIds captures_;                              // tensors of outer_ that were requested
  absl::flat_hash_map<int, std::vector<const InputRewrite*>> rewrites_;
};

Tensor Scope::MakeTensor(const std::string& name, TensorRole role) const {
  Tensor tensor;
  tensor.name = ShortName(name);
  tensor.role = role;
  if (const auto it = facts_.values.find(name); it != facts_.values.end()) {
    tensor.dtype = it->second.dtype;
    tensor.shape = it->second.shape;
    tensor.value = it->second.value;
    tensor.upper_bound = it->second.upper_bound;
  }
  return tensor;
}

// Branches of different Ifs may use one name for different values; a graph's tensors are distinguished by theirs.
std::string Scope::UniqueName(const std::string& name) {
  Scope* owner = this;
  while (owner->SharesGraph()) owner = owner->outer_;
  if (!owner->ids_.contains(name)) return name;
  std::string unique;
  int64_t& number = owner->last_[name];  // what is taken stays taken: no number is tried twice
  do {
    unique = absl::StrCat(name, "/", ++number);
  } while (owner->ids_.contains(unique));
  return unique;
}

TensorId Scope::Define(const std::string& name, TensorRole role) {
  if (const auto it = ids_.find(name); it != ids_.end()) return it->second;
  Tensor tensor = MakeTensor(name, role);
  if (SharesGraph()) {
    tensor.name = UniqueName(name);
    Scope* owner = this;
    while (owner->SharesGraph()) owner = owner->outer_;
    const TensorId id = graph_.tensors.Add(std::move(tensor));
    owner->ids_.emplace(owner->made_names_.emplace_back(graph_.tensors[id].name), id);
    return ids_[name] = id;
  }
  return ids_[name] = graph_.tensors.Add(std::move(tensor));
}

TensorId Scope::Find(const std::string& name) {
  if (name.empty()) return TensorId();
  if (const auto it = ids_.find(name); it != ids_.end()) return it->second;
  if (outer_ == nullptr) return TensorId();
  const TensorId there = outer_->Find(name);
  if (!there.valid() || SharesGraph()) return there;
  Tensor captured = outer_->graph_.tensors[there];
  captured.name = name;
  captured.role = TensorRole::kInput;
  captures_.push_back(there);
  const TensorId here = graph_.tensors.Add(std::move(captured));
  graph_.inputs.push_back(here);
  return ids_[name] = here;
}

void Scope::AddInputs() {
  const InputNames stored = StoredInputs(proto_);
  for (const auto& input : proto_.input()) {
    if (stored.contains(input.name()) || ids_.contains(input.name())) continue;
    graph_.inputs.push_back(Define(input.name(), TensorRole::kInput));
  }
}

void Scope::AddInitializers() {
  const auto add = [&](const std::string& name) {
    if (!name.empty() && !ids_.contains(name)) graph_.initializers.push_back(Define(name, TensorRole::kInitializer));
  };
  for (const auto& tensor : proto_.initializer()) add(tensor.name());
  for (const auto& tensor : proto_.sparse_initializer()) add(tensor.values().name());
}

void Scope::AddNodes() {
  for (int i = 0; i < proto_.node_size(); ++i) AddNode(i);
}

void Scope::AddNode(int index) {
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
  for (const std::string& input : proto.input()) node.inputs.push_back(Find(input));
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
    node.outputs.push_back(output.empty() ? TensorId() : Define(output, role));
  }
  graph_.nodes.Add(std::move(node));
}

void Scope::AddBodies(const onnx::NodeProto& proto, int index, Node& node) {
  static const InferredGraph kNothing;
  const std::vector<BodyProto> bodies = BodiesOf(proto, facts_, index);
  for (const BodyProto& body : bodies) {
    auto graph = std::make_shared<Graph>();
    Scope scope(*body.graph, body.facts != nullptr ? *body.facts : kNothing, *graph, this, versions_);
    scope.AddInputs();
    scope.AddInitializers();
    scope.AddNodes();
    scope.AddOutputs();
    LinkTensors(*graph);
    for (TensorId captured : scope.captures()) {
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
void Scope::AddBranch(const onnx::NodeProto& proto, const BodyProto& branch) {
  Scope scope(*branch.graph, *branch.facts, graph_, this, versions_);
  scope.AddInitializers();
  const TensorId first_own = graph_.tensors.next_id();
  scope.AddNodes();
  for (int i = 0; i < proto.output_size() && i < branch.graph->output_size(); ++i) {
    const std::string& name = proto.output(i);
    if (name.empty()) continue;
    const TensorId made = scope.Find(branch.graph->output(i).name());
    if (!made.valid()) continue;
    Tensor& tensor = graph_.tensors[made];
    const bool own = made >= first_own && tensor.role != TensorRole::kInitializer;
    const bool named = std::any_of(proto.output().begin(), proto.output().begin() + i,
                                   [&](const std::string& earlier) { return Find(earlier) == made; });
    if (own && !named) {
      tensor.name = SharesGraph() ? UniqueName(name) : name;
      ids_[name] = made;
    } else {
      AddIdentity(proto, made, name);
    }
  }
}

void Scope::AddIdentity(const onnx::NodeProto& at, TensorId from, const std::string& name) {
  Node node;
  node.name = absl::StrCat(at.name(), "/", name);
  node.op = "Identity";
  node.since_version = versions_.SinceVersion("", node.op);
  node.inputs = {from};
  const TensorId to = Define(name, TensorRole::kActivation);
  Tensor& tensor = graph_.tensors[to];
  const Tensor& source = graph_.tensors[from];
  tensor.dtype = source.dtype;
  tensor.shape = source.shape;
  tensor.value = source.value;
  tensor.upper_bound = source.upper_bound;
  node.outputs = {to};
  graph_.nodes.Add(std::move(node));
}

TensorId Scope::AddLiteral(const std::string& name, LiteralPtr value) {
  Tensor tensor;
  tensor.name = UniqueName(name);
  tensor.dtype = value->dtype;
  tensor.shape = Shape(value->dims);
  tensor.role = TensorRole::kInitializer;
  tensor.value = std::move(value);
  const TensorId id = graph_.tensors.Add(std::move(tensor));
  ids_.emplace(made_names_.emplace_back(graph_.tensors[id].name), id);
  graph_.initializers.push_back(id);
  return id;
}

void Scope::Rewrite(const InputRewrite& rewrite, Node& node) {
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
  expanded.name = UniqueName(absl::StrCat(name, "/expanded"));
  expanded.dtype = graph_.tensors[operand].dtype;
  expanded.shape = *rewrite.expanded;
  operand = graph_.tensors.Add(std::move(expanded));
  ids_.emplace(made_names_.emplace_back(graph_.tensors[operand].name), operand);
  expand.outputs = {operand};
  graph_.nodes.Add(std::move(expand));
}

void Scope::AddOutputs() {
  for (const auto& output : proto_.output()) {
    if (const TensorId id = Find(output.name()); id.valid()) graph_.outputs.push_back(id);
  }
}

}  // namespace

absl::StatusOr<Graph> BuildGraph(const onnx::ModelProto& model, const InferredGraph& facts,
                                 const std::vector<InputRewrite>& rewrites) {
  Graph graph;
  Versions versions(model);
  graph.opset = versions.Opset("");
  Scope scope(model.graph(), facts, graph, nullptr, versions);
  scope.UseRewrites(rewrites);
  const auto nodes = static_cast<size_t>(model.graph().node_size());
  graph.nodes.reserve(nodes);
  graph.tensors.reserve(facts.values.size());
  scope.Reserve(facts.values.size());
  scope.AddInputs();
  scope.AddInitializers();
  scope.AddNodes();
  scope.AddOutputs();
  LinkTensors(graph);
  for (const auto& entry : model.graph().metadata_props()) {
    if (entry.key() != kGraphSignature) continue;
    graph.signature = ProgramSignature::Parse(entry.value());
    MarkLostParameters(graph);
  }
  return graph;
}

}  // namespace onnx_mem
