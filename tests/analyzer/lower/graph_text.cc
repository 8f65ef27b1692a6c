#include "tests/analyzer/lower/graph_text.h"

#include <gtest/gtest.h>

#include <map>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "analyzer/exported/source_trace.h"
#include "analyzer/graph/dag.h"

namespace onnx_mem {
namespace {

DType ParseDType(absl::string_view name) {
  for (const DTypeRow& row : kDTypes) {
    if (name == absl::string_view(row.name.data(), row.name.size())) return row.dtype;
  }
  ADD_FAILURE() << "no dtype " << name;
  return DType::kUnknown;
}

Dims ParseDims(absl::string_view text) {
  Dims dims;
  if (text == "scalar") return dims;
  for (absl::string_view part : absl::StrSplit(text, 'x')) {
    int64_t dim = kUnknownDim;
    const bool valid = part == "?" || absl::SimpleAtoi(part, &dim);
    EXPECT_TRUE(valid) << text;
    dims.push_back(dim);
  }
  return dims;
}

LiteralPtr ParseLiteral(absl::string_view text, const Tensor& tensor) {
  auto literal = std::make_shared<Literal>();
  literal->dtype = tensor.dtype;
  literal->dims = tensor.shape.dims;
  std::vector<double> floats;
  std::vector<int64_t> ints;
  for (absl::string_view part : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    if (IsFloating(tensor.dtype)) {
      EXPECT_TRUE(absl::SimpleAtod(part, &floats.emplace_back())) << text;
    } else {
      EXPECT_TRUE(absl::SimpleAtoi(part, &ints.emplace_back())) << text;
    }
  }
  if (IsFloating(tensor.dtype)) {
    literal->data = std::move(floats);
  } else {
    literal->data = std::move(ints);
  }
  return literal;
}

Attribute ParseAttribute(absl::string_view text) {
  if (absl::ConsumePrefix(&text, "\"")) return std::string(text.substr(0, text.size() - 1));
  int64_t number = 0;
  if (absl::ConsumePrefix(&text, "[")) {
    std::vector<int64_t> list;
    for (absl::string_view part : absl::StrSplit(text.substr(0, text.size() - 1), ' ', absl::SkipEmpty())) {
      EXPECT_TRUE(absl::SimpleAtoi(part, &number)) << part;
      list.push_back(number);
    }
    return list;
  }
  if (absl::SimpleAtoi(text, &number)) return number;
  double real = 0;
  EXPECT_TRUE(absl::SimpleAtod(text, &real)) << text;
  return real;
}

class Parser {
 public:
  Graph Parse(std::string_view text) {
    for (absl::string_view line : absl::StrSplit(absl::string_view(text.data(), text.size()), '\n')) {
      line = absl::StripAsciiWhitespace(line.substr(0, line.find('#')));
      if (!line.empty()) Line(line);
    }
    LinkTensors(graph_);
    const absl::Status status = VerifyGraph(graph_);
    EXPECT_TRUE(status.ok()) << status;
    return std::move(graph_);
  }

 private:
  // What a file or its reading tells of a node, behind "@": a field, or the exporter's metadata.
  void Tell(Node& node, const std::string& key, const std::string& value) {
    if (key == "sinusoids") {
      for (Tensor& tensor : graph_.tensors) {
        if (tensor.name == value) tensor.contents = Contents::kSinusoids;
      }
    } else if (key == "lost_parameter") {
      node.lost_parameter = value;
    } else if (key == kExportedTrace) {
      node.source_trace = std::make_shared<const std::string>(value);
    } else {
      node.metadata.emplace(key, value);
    }
  }

  void Line(absl::string_view line) {
    if (absl::ConsumePrefix(&line, "@ ")) {
      std::pair<std::string, std::string> entry = absl::StrSplit(line, absl::MaxSplits(' ', 1));
      absl::StrReplaceAll({{"\\n", "\n"}}, &entry.second);
      Tell(graph_.nodes[NodeId(static_cast<int32_t>(graph_.nodes.size()) - 1)], entry.first, entry.second);
    } else if (absl::ConsumePrefix(&line, "input ")) {
      graph_.inputs.push_back(Declare(line, TensorRole::kInput));
    } else if (absl::ConsumePrefix(&line, "weight ")) {
      graph_.initializers.push_back(Declare(line, TensorRole::kInitializer));
    } else if (absl::ConsumePrefix(&line, "const ")) {
      const TensorId id = Declare(line, TensorRole::kConstant);
      Node node;
      node.op = "Constant";
      node.outputs = {id};
      graph_.nodes.Add(std::move(node));
    } else if (absl::ConsumePrefix(&line, "output ")) {
      for (absl::string_view name : absl::StrSplit(line, ' ', absl::SkipEmpty())) graph_.outputs.push_back(Find(name));
    } else {
      ReadNode(line);
    }
  }

  TensorId Declare(absl::string_view text, TensorRole role) {
    const std::vector<absl::string_view> halves = absl::StrSplit(text, absl::MaxSplits('=', 1));
    const std::vector<absl::string_view> words = absl::StrSplit(halves[0], ' ', absl::SkipEmpty());
    if (words.size() == 1 && words[0] == "-") return TensorId();
    EXPECT_EQ(words.size(), 3u) << text;
    if (words.size() != 3) return TensorId();
    Tensor tensor;
    tensor.name = std::string(words[0]);
    tensor.dtype = ParseDType(words[1]);
    tensor.shape = Shape(ParseDims(words[2]));
    tensor.role = role;
    if (halves.size() == 2) tensor.value = ParseLiteral(halves[1], tensor);
    const TensorId id = graph_.tensors.Add(tensor);
    names_[tensor.name] = id;
    return id;
  }

  TensorId Find(absl::string_view name) {
    if (name == "-") return TensorId();
    auto it = names_.find(std::string(name));
    EXPECT_NE(it, names_.end()) << "no tensor " << name;
    return it == names_.end() ? TensorId() : it->second;
  }

  // NAME = OP(IN, IN) -> OUT dtype dims, OUT dtype dims {key: value, key: value}
  void ReadNode(absl::string_view line) {
    Node node;
    const size_t equal = line.find(" = "), open = line.find('(', equal), close = line.find(')', open);
    ASSERT_NE(close, absl::string_view::npos) << line;
    node.name = std::string(line.substr(0, equal));
    const absl::string_view op = line.substr(equal + 3, open - equal - 3);
    const size_t colons = op.rfind("::");
    if (colons != absl::string_view::npos) node.domain = std::string(op.substr(0, colons));
    node.op = std::string(colons == absl::string_view::npos ? op : op.substr(colons + 2));
    for (absl::string_view name : absl::StrSplit(line.substr(open + 1, close - open - 1), ", ", absl::SkipEmpty())) {
      node.inputs.push_back(Find(name));
    }
    absl::string_view rest = line.substr(line.find("->", close) + 2);
    const size_t brace = rest.find('{');
    for (absl::string_view output : absl::StrSplit(rest.substr(0, brace), ',', absl::SkipWhitespace())) {
      node.outputs.push_back(Declare(absl::StripAsciiWhitespace(output), TensorRole::kActivation));
    }
    if (brace != absl::string_view::npos) ReadAttributes(rest.substr(brace + 1, rest.rfind('}') - brace - 1), node);
    graph_.nodes.Add(std::move(node));
  }

  static void ReadAttributes(absl::string_view text, Node& node) {
    for (absl::string_view entry : absl::StrSplit(text, ", ", absl::SkipEmpty())) {
      const std::pair<absl::string_view, absl::string_view> pair = absl::StrSplit(entry, absl::MaxSplits(": ", 1));
      const Attribute value = ParseAttribute(absl::StripAsciiWhitespace(pair.second));
      if (pair.first == "since_version") {
        node.since_version = static_cast<int>(std::get<int64_t>(value));
      } else {
        node.attributes[std::string(absl::StripAsciiWhitespace(pair.first))] = value;
      }
    }
  }

  Graph graph_;
  std::map<std::string, TensorId> names_;
};

std::string AttributeText(const Attribute& attribute) {
  if (const auto* i = std::get_if<int64_t>(&attribute)) return absl::StrCat(*i);
  if (const auto* d = std::get_if<double>(&attribute)) return absl::StrCat(*d);
  if (const auto* s = std::get_if<std::string>(&attribute)) return *s;
  if (const auto* l = std::get_if<std::vector<int64_t>>(&attribute))
    return absl::StrCat("[", absl::StrJoin(*l, " "), "]");
  return "?";
}

std::string NodeText(const FrameworkGraph& graph, const FrameworkNode& node,
                     const std::vector<std::string>& attributes) {
  auto names = [&](const TensorIds& ids) {
    return absl::StrJoin(ids, ", ", [&](std::string* out, TensorId id) {
      absl::StrAppend(out, id.valid() ? graph.tensors[id].name : std::string("-"));
    });
  };
  std::string line = absl::StrCat(node.op.str(), "(", names(node.inputs), ") -> ", names(node.outputs));
  if (!node.module.empty()) absl::StrAppend(&line, " [", node.module, "]");
  for (const std::string& name : attributes) {
    auto it = node.attributes.find(name);
    if (it != node.attributes.end()) absl::StrAppend(&line, " ", name, "=", AttributeText(it->second));
  }
  if (IntAttribute(node, "inplace", 0) != 0) absl::StrAppend(&line, " inplace");
  return line;
}

}  // namespace

Graph ParseGraph(std::string_view text) { return Parser().Parse(text); }

std::string DumpLowered(const Lowered& lowered, std::string_view attributes) {
  const std::vector<std::string> shown =
      absl::StrSplit(absl::string_view(attributes.data(), attributes.size()), ' ', absl::SkipEmpty());
  std::string text;
  for (const FrameworkNode& node : lowered.graph.nodes)
    absl::StrAppend(&text, NodeText(lowered.graph, node, shown), "\n");
  for (TensorId id(0); lowered.graph.tensors.contains(id); id = TensorId(id.value() + 1)) {
    const std::string& name = lowered.graph.tensors[id].name;
    if (lowered.kinds[id] == TensorKind::kParameter) absl::StrAppend(&text, "parameter ", name, "\n");
    if (lowered.kinds[id] == TensorKind::kBuffer) absl::StrAppend(&text, "buffer ", name, "\n");
  }
  if (lowered.hidden_buffer_bytes > 0) absl::StrAppend(&text, "hidden ", lowered.hidden_buffer_bytes, "\n");
  return text;
}

std::string LowerText(std::string_view text, const Run& run, std::string_view attributes) {
  const Graph graph = ParseGraph(text);
  const absl::StatusOr<Lowered> lowered = Lower(graph, run);
  if (!lowered.ok()) return std::string(lowered.status().message());
  const absl::Status status = VerifyGraph(lowered->graph);
  EXPECT_TRUE(status.ok()) << status;
  return DumpLowered(*lowered, attributes);
}

Run Without(const std::string& rewrite) {
  Run run;
  run.disabled_rewrites = {rewrite};
  return run;
}

bool Has(std::string_view dump, std::string_view part) { return dump.find(part) != std::string_view::npos; }

int Count(std::string_view dump, std::string_view part) {
  int count = 0;
  for (size_t at = dump.find(part); at != std::string_view::npos; at = dump.find(part, at + 1)) ++count;
  return count;
}

}  // namespace onnx_mem
