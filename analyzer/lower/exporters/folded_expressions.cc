// dynamo's exporter computes what is made of stored tensors alone and names the result after the call: a training step
// computes it, so it is no buffer, and where it was picked from a parameter it has a gradient.
//
//   sub[96, 96] (positions), int64                      a new tensor where it is read, freed when read
//   unsqueeze_14, unsqueeze_18 [1, 1, 96, 32]           views of one tensor that every layer is handed: the cosines of
//     read by layers.0.self_attn, layers.1.self_attn    a rotary embedding
//   index_2 [28, 28, 96] in a module that lost one      rows of a table of relative positions: [2·28 - 1, 96]
//   index [4, 49, 49] in a module that lost one         columns of a table of distances: [4, 49]
//   permute [6, 64, 64], read as [1, 6, 64, 64]         embedding of buckets [64, 64] in a table [32, 6] (T5)
//
// That a module lost a parameter is the exporter's word (Node::lost_parameter). Sources: timm/models/mvitv2.py
// (cal_rel_pos_type), timm/models/levit.py (get_attention_biases), transformers/models/t5/modeling_t5.py
// (compute_bias).
#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "analyzer/exported/source_trace.h"
#include "analyzer/lower/draft/match.h"
#include "analyzer/lower/facts/parameters.h"
#include "analyzer/lower/operators/site.h"

namespace onnx_mem {
namespace {

constexpr auto kViewCalls = std::to_array<std::string_view>(
    {"expand", "permute", "reshape", "select", "slice", "squeeze", "t", "transpose", "unsqueeze", "view"});

bool IsView(std::string_view call) { return std::find(kViewCalls.begin(), kViewCalls.end(), call) != kViewCalls.end(); }

// "m.layers.12.self_attn" -> "m.layers.#.self_attn": the same for all layers of a stack.
std::string WithoutNumbers(std::string_view module) {
  std::string text;
  for (char c : module) {
    if (!absl::ascii_isdigit(static_cast<unsigned char>(c))) {
      text += c;
    } else if (text.empty() || text.back() != '#') {
      text += '#';
    }
  }
  return text;
}

struct Expression {
  TensorId stored;
  std::string_view call;
  NodeIds readers;  // in running order
};

class Folded {
 public:
  explicit Folded(Lowering& lowering) : lowering_(lowering), draft_(lowering.draft), order_(draft_.InOrder()) {
    for (size_t i = 0; i < order_.size(); ++i) places_[order_[i]] = i;
  }

  int64_t Compute() {
    int64_t count = 0;
    std::map<std::string, std::vector<Expression>> shared;
    for (const Expression& expression : Find()) {
      if (LostParameter(expression) || IsBucketBias(expression)) {
        count += PickFromTable(expression);
      } else if (IsView(expression.call)) {
        shared[KeyOf(expression)].push_back(expression);
      } else {
        Make({expression});
        ++count;
      }
    }
    for (const auto& [key, views] : shared) {
      Make(views);
      count += static_cast<int64_t>(views.size());
    }
    return count;
  }

 private:
  std::vector<Expression> Find() const {
    std::vector<Expression> found;
    for (TensorId id : lowering_.source.initializers) {
      const std::string_view call = FoldedCall(draft_.tensor(id).name);
      if (call.empty() || draft_.kind(id) != TensorKind::kBuffer || draft_.producer(id).valid() || draft_.IsOutput(id))
        continue;
      Expression expression{id, call, draft_.readers(id)};
      if (expression.readers.empty() || NumElements(draft_.tensor(id).shape).value_or(0) < 2) continue;
      std::sort(expression.readers.begin(), expression.readers.end(),
                [&](NodeId a, NodeId b) { return places_.at(a) < places_.at(b); });
      found.push_back(std::move(expression));
    }
    return found;
  }

  bool LostParameter(const Expression& expression) const {
    if (!IsFloating(draft_.tensor(expression.stored).dtype)) return false;
    const NodeIds& readers = lowering_.source.tensors[expression.stored].consumers;
    return std::any_of(readers.begin(), readers.end(),
                       [&](NodeId id) { return !lowering_.source.nodes[id].lost_parameter.empty(); });
  }

  // [heads, queries, keys] made of a table's rows, which are read as [1, heads, queries, keys].
  bool IsBucketBias(const Expression& expression) const {
    const Tensor& tensor = draft_.tensor(expression.stored);
    const Dims& dims = tensor.shape.dims;
    return expression.call == "permute" && IsFloating(tensor.dtype) && dims.size() == 3 && dims[0] > 1 &&
           std::all_of(expression.readers.begin(), expression.readers.end(), [&](NodeId reader) {
             const Node& node = draft_.node(reader);
             return node.op == "unsqueeze" &&
                    draft_.tensor(node.outputs[0]).shape.dims == Dims{1, dims[0], dims[1], dims[2]};
           });
  }

  // The same for views of one tensor: of one shape, and at the same place in their modules, which differ by a number.
  std::string KeyOf(const Expression& expression) {
    const Tensor& tensor = draft_.tensor(expression.stored);
    const std::string& module = draft_.node(expression.readers.front()).module;
    const std::string what =
        absl::StrCat(std::string(expression.call), " ", ToString(tensor.shape), " ", std::string(NameOf(tensor.dtype)));
    const int place = counts_[absl::StrCat(module, " ", what)]++;
    return absl::StrCat(WithoutNumbers(module), " ", what, " ", place);
  }

  // The calls that all readers run in.
  std::vector<std::string> CommonCalls(const std::vector<Expression>& expressions) const {
    std::vector<std::string> common = draft_.node(expressions.front().readers.front()).calls;
    for (const Expression& expression : expressions) {
      for (NodeId reader : expression.readers) {
        const std::vector<std::string>& calls = draft_.node(reader).calls;
        const auto [end, unused] = std::mismatch(common.begin(), common.end(), calls.begin(), calls.end());
        common.erase(end, common.end());
      }
    }
    return common;
  }

  // The first node of the call beneath `calls` that runs `reader`; `reader` itself if it runs in `calls`.
  NodeId FirstOfCall(NodeId reader, const std::vector<std::string>& calls) const {
    const std::vector<std::string>& inner = draft_.node(reader).calls;
    if (inner.size() == calls.size()) return reader;
    size_t place = places_.at(reader);
    const auto same = [&](NodeId id) {
      const std::vector<std::string>& other = draft_.node(id).calls;
      return other.size() > calls.size() &&
             std::equal(inner.begin(), inner.begin() + static_cast<int64_t>(calls.size()) + 1, other.begin());
    };
    while (place > 0 && same(order_[place - 1])) --place;
    return order_[place];
  }

  NodeId FirstReader(const std::vector<Expression>& expressions) const {
    NodeId first = expressions.front().readers.front();
    for (const Expression& expression : expressions) {
      if (places_.at(expression.readers.front()) < places_.at(first)) first = expression.readers.front();
    }
    return first;
  }

  // One new tensor for all of `expressions`, made where the first is read.
  void Make(const std::vector<Expression>& expressions) {
    const std::vector<std::string> calls = CommonCalls(expressions);
    const NodeId ahead_of = FirstOfCall(FirstReader(expressions), calls);
    const Tensor tensor = draft_.tensor(expressions.front().stored);
    const TensorId made = draft_.NewTensor(absl::StrCat(tensor.name, "/computed"), tensor.dtype, tensor.shape.dims);
    Node full = MakeNode("full", {}, {made});
    full.name = tensor.name;
    full.calls = calls;
    full.module = calls.empty() ? "" : calls.back();
    Add(std::move(full), ahead_of);
    for (const Expression& expression : expressions) draft_.ReplaceReaders(expression.stored, made);
  }

  void Add(Node node, NodeId ahead_of) {
    KeepSourceTrace(draft_.node(ahead_of), node);
    Rank rank = draft_.rank(ahead_of);
    --rank.place;
    draft_.Add(std::move(node), rank);
  }

  TensorId Emit(const Expression& expression, std::string_view op, TensorIds inputs, DType dtype,
                Dims dims) {
    const Node& reader = draft_.node(expression.readers.front());
    const std::string& name = draft_.tensor(expression.stored).name;
    const TensorId result = draft_.NewTensor(absl::StrCat(name, "/", std::string(op)), dtype, std::move(dims));
    Node node = MakeNode(op, std::move(inputs), {result});
    node.name = absl::StrCat(name, "/", std::string(op));
    node.module = reader.module;
    node.calls = reader.calls;
    if (op == "permute") node.attributes["perm"] = std::vector<int64_t>{2, 0, 1};
    Add(std::move(node), expression.readers.front());
    return result;
  }

  TensorId Table(const Expression& expression, Dims dims) {
    const Tensor& tensor = draft_.tensor(expression.stored);
    return draft_.NewTensor(absl::StrCat(tensor.name, "/table"), tensor.dtype, std::move(dims), TensorKind::kParameter);
  }

  // 1 if the expression is one whose table is known by its shape; else it is the parameter, seen through a view, that
  // its module lost.
  int64_t PickFromTable(const Expression& expression) {
    const Dims dims = draft_.tensor(expression.stored).shape.dims;
    const DType dtype = draft_.tensor(expression.stored).dtype;
    const bool square = dims.size() == 3 && dims[1] == dims[2];
    TensorId result;
    if (expression.call == "index" && square) {
      const TensorId index = draft_.NewTensor("", DType::kInt64, Dims{dims[1], dims[2]}, TensorKind::kBuffer);
      result = Emit(expression, "index", {Table(expression, Dims{dims[0], dims[1]}), index}, dtype, dims);
    } else if (expression.call == "index" && dims.size() == 3) {
      const TensorId index = draft_.NewTensor("", DType::kInt64, Dims{dims[0], dims[1]}, TensorKind::kBuffer);
      result = Emit(expression, "index", {Table(expression, Dims{2 * std::max(dims[0], dims[1]) - 1, dims[2]}), index},
                    dtype, dims);
    } else if (expression.call == "permute" && dims.size() == 3) {
      constexpr int64_t kBuckets = 32;  // T5Config.relative_attention_num_buckets
      const TensorId buckets = Emit(expression, "full", {}, DType::kInt64, Dims{dims[1], dims[2]});
      result = Emit(expression, "embedding", {Table(expression, Dims{kBuckets, dims[0]}), buckets}, dtype,
                    Dims{dims[1], dims[2], dims[0]});
      result = Emit(expression, "permute", {result}, dtype, dims);
    } else {
      if (IsView(expression.call)) draft_.SetKind(expression.stored, TensorKind::kParameter);
      return 0;
    }
    draft_.ReplaceReaders(expression.stored, result);
    return 1;
  }

  Lowering& lowering_;
  Draft& draft_;
  const NodeIds order_;
  std::map<NodeId, size_t> places_;
  std::map<std::string, int> counts_;
};

}  // namespace

int64_t ComputeFoldedExpressions(Lowering& lowering) {
  return lowering.run.training ? Folded(lowering).Compute() : 0;
}

}  // namespace onnx_mem
