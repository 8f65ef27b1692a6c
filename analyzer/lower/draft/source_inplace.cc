#include "analyzer/lower/draft/source_inplace.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "analyzer/exported/source_trace.h"
#include "analyzer/graph/absl_view.h"
#include "analyzer/ops/ops.h"

namespace onnx_mem {
namespace {

struct ArithmeticRow {
  std::string_view op;
  char sign;
  std::string_view function;
};
constexpr auto kArithmetic = std::to_array<ArithmeticRow>({
    {"add", '+', "add"},
    {"sub", '-', "sub"},
    {"mul", '*', "mul"},
    {"div", '/', "div"},
    {"add_scalar", '+', "add"},
    {"sub_scalar", '-', "sub"},
    {"mul_scalar", '*', "mul"},
    {"div_scalar", '/', "div"},
});

// Where `text` calls the function `name`; npos if nowhere or more than once.
size_t FindOnlyCall(std::string_view text, std::string_view name) {
  const size_t at = FindCall(text, name);
  const bool again = at != std::string_view::npos && FindCall(text, name, at + 1) != std::string_view::npos;
  return again ? std::string_view::npos : at;
}

// The arguments of the call whose bracket opens at `open`; nullopt if it does not close on the line.
std::optional<std::string_view> Arguments(std::string_view text, size_t open) {
  int depth = 0;
  for (size_t i = open; i < text.size(); ++i) {
    if (text[i] == '(' || text[i] == '[') ++depth;
    if (text[i] == ')' || text[i] == ']') --depth;
    if (depth == 0) return text.substr(open + 1, i - open - 1);
  }
  return std::nullopt;
}

std::optional<bool> ByFunction(std::string_view text, std::string_view function) {
  if (FindOnlyCall(text, std::string(function) + "_") != std::string_view::npos) return true;
  const size_t at = FindOnlyCall(text, function);
  if (at == std::string_view::npos) return std::nullopt;
  const std::optional<std::string_view> arguments = Arguments(text, at + function.size());
  if (!arguments) return std::nullopt;
  if (absl::StrContains(View(*arguments), "inplace")) {
    if (absl::StrContains(View(*arguments), "inplace=True")) return true;
    if (absl::StrContains(View(*arguments), "inplace=False")) return false;
    return std::nullopt;
  }
  if (absl::StrContains(View(*arguments), "True")) return std::nullopt;
  return false;
}

}  // namespace

// Whether `other` runs on the line of `node`, in the same function or in a module that it calls there.
bool SourceInPlace::IsOnTheSameLine(const FrameworkNode& node, const FrameworkNode& other) {
  const size_t depth = node.calls.size();
  const SourceLines &own = traces_.Read(node), &others = traces_.Read(other);
  return others.size() > depth && others[depth] == own[depth] &&
         std::equal(node.calls.begin(), node.calls.end(), other.calls.begin());
}

std::optional<bool> SourceInPlace::ReadsArithmetic(const FrameworkNode& node, const SourceLine& line, char sign,
                                                   std::string_view function) {
  const Statement& statement = line.statement;
  if (FindOnlyCall(line.text, std::string(function) + "_") != std::string_view::npos) return true;
  if (statement.kind == StatementKind::kAugmented && statement.augmented_op == sign) {
    const NodeIds& readers = draft_.readers(node.outputs[0]);
    const bool is_last = std::none_of(readers.begin(), readers.end(),
                                      [&](NodeId reader) { return IsOnTheSameLine(node, draft_.node(reader)); });
    const NodeId maker = node.inputs[0].valid() ? draft_.producer(node.inputs[0]) : NodeId();
    if (!is_last || !maker.valid() || statement.targets.size() != 1 || statement.targets[0].empty())
      return std::nullopt;
    return !IsOnTheSameLine(node, draft_.node(maker));
  }
  if (statement.kind != StatementKind::kAssign && statement.kind != StatementKind::kReturn) return std::nullopt;
  const bool spelled =
      absl::StrContains(line.text, sign) || FindOnlyCall(line.text, function) != std::string_view::npos;
  return spelled ? std::optional<bool>(false) : std::nullopt;
}

std::optional<bool> SourceInPlace::Reads(NodeId id) {
  const FrameworkNode& node = draft_.node(id);
  if (node.inputs.empty() || node.outputs.empty()) return std::nullopt;
  const SourceLines& lines = traces_.Read(node);
  if (lines.empty() || lines.back() == nullptr) return std::nullopt;
  if (IsInPlaceFunction(node.op)) return ByFunction(lines.back()->text, node.op.str());
  for (const ArithmeticRow& row : kArithmetic) {
    if (row.op == node.op) return ReadsArithmetic(node, *lines.back(), row.sign, row.function);
  }
  return std::nullopt;
}

std::optional<bool> SourceInPlace::Writes(NodeId id) {
  const std::optional<bool> reported = Reads(id);
  if (!reported || !*reported) return reported;
  const FrameworkNode& node = draft_.node(id);
  if (!node.inputs[0].valid() || !draft_.producer(node.inputs[0]).valid()) return false;
  const Tensor &input = draft_.tensor(node.inputs[0]), &output = draft_.tensor(node.outputs[0]);
  const NodeIds& readers = draft_.readers(node.inputs[0]);
  const bool read_later = std::any_of(readers.begin(), readers.end(), [&](NodeId reader) {
    return reader != id && draft_.rank(reader) > draft_.rank(id);
  });
  return !read_later && !draft_.IsOutput(node.inputs[0]) && input.shape == output.shape && input.dtype == output.dtype;
}

// Whether a statement of the function that `node` runs in binds `name` to the tensor.
bool SourceInPlace::IsBoundTo(const std::string& name, TensorId id, const FrameworkNode& node) {
  const NodeId maker = draft_.producer(id);
  if (!maker.valid()) return false;
  const size_t depth = node.calls.size();
  const FrameworkNode& made_by = draft_.node(maker);
  const SourceLines& lines = traces_.Read(made_by);
  if (lines.size() <= depth || lines[depth] == nullptr || made_by.calls.size() < depth) return false;
  const std::vector<std::string>& targets = lines[depth]->statement.targets;
  return std::equal(node.calls.begin(), node.calls.end(), made_by.calls.begin()) &&
         std::find(targets.begin(), targets.end(), name) != targets.end();
}

bool SourceInPlace::NamesSecond(NodeId id) {
  const FrameworkNode& node = draft_.node(id);
  if ((node.op != "add" && node.op != "mul") || node.inputs.size() != 2) return false;
  const SourceLines& lines = traces_.Read(node);
  if (lines.empty() || lines.back() == nullptr) return false;
  const Statement& statement = lines.back()->statement;
  if (statement.kind != StatementKind::kAugmented || statement.targets.size() != 1) return false;
  const std::string& name = statement.targets[0];
  return !name.empty() && IsBoundTo(name, node.inputs[1], node) && !IsBoundTo(name, node.inputs[0], node);
}

}  // namespace onnx_mem
