// The part of locals.h about statements: which calls and functions stand in one, x = F.relu(self.bn(self.conv(x))), and
// what has a name until it is done.
#include <algorithm>
#include <string>
#include <string_view>

#include "analyzer/assume/names/contains.h"
#include "analyzer/assume/names/locals.h"
#include "analyzer/ops/ops.h"

namespace onnx_mem::names {
namespace {

// Functions that are written around the call whose result they take: F.relu(self.conv(x)).
bool IsWrittenAround(const OpName& op) {
  return IsActivation(op) || IsWholeView(op) || IsScaling(op) || op == "hardsigmoid" || op == "softplus" ||
         op == "max_pool" || op == "avg_pool" || op == "slice";
}
// Functions that are written inside the argument list of a call: self.conv(F.interpolate(x)).
bool IsWrittenInside(const OpName& op) { return op == "upsample" || op == "cat" || op == "pad"; }

}  // namespace

// Norms whose result a function takes: F.relu(self.bn1(self.conv1(x))).
void Locals::FindWrappedNorms() {
  for (const CallSpan& call : calls_.spans()) {
    if (call.begin != call.end || !IsNorm(graph_.nodes[NodeId(call.begin)].op)) continue;
    const TensorId result = graph_.nodes[NodeId(call.begin)].outputs[0];
    const size_t depth = calls_.of_node(call.begin).size() - 1;
    const Home home = HomeOf(result);
    const auto& readers = graph_.tensors[result].consumers;
    if (home.depth != depth || readers.size() != 1 || !Wraps(readers[0].value(), depth)) continue;
    wrapped_norms_.insert({home.frame, WithoutDigits(call.name)});
  }
}

// out = F.relu(self.bn1(self.conv1(x))); out = self.bn2(self.conv2(out)): code that nests one layer nests the others.
bool Locals::IsWrappedElsewhere(int32_t norm, const Home& home) const {
  const std::string& name = calls_.span(calls_.UnitCall(norm, home.depth)).name;
  return wrapped_norms_.contains({home.frame, WithoutDigits(name)});
}

// A function, rather than a module, that the code of the frame calls on the result of `unit`.
bool Locals::Wraps(int32_t unit, size_t depth) const {
  return calls_.UnitCall(unit, depth) < 0 && IsWrittenAround(graph_.nodes[NodeId(unit)].op);
}

// x = torch.cat([token, x], 1) with a learned token is a statement of its own.
bool Locals::Prepares(int32_t unit, size_t depth) const {
  const FrameworkNode& node = graph_.nodes[NodeId(unit)];
  if (calls_.UnitCall(unit, depth) >= 0 || !IsWrittenInside(node.op)) return false;
  return !takes_token_[NodeId(unit)];
}

// The unit of `home` that continues with the only result of `unit`, and with no other statement in between; -1 if none.
int32_t Locals::NextInStatement(int32_t unit, const Home& home) const {
  const auto only_reader = [&](int32_t of) {
    const TensorId result = OnlyResult(of, home.depth);
    if (!result.valid() || HomeOf(result).frame != home.frame) return -1;
    const Units readers = ReadingUnits(result, home);
    return readers.size() == 1 ? readers[0] : -1;
  };
  const auto is_call = [&](int32_t of) { return of >= 0 && calls_.UnitCall(of, home.depth) >= 0; };
  const int32_t next = only_reader(unit);
  if (next < 0) return -1;
  const auto is_product = [&](int32_t of) {
    return calls_.UnitCall(of, home.depth) < 0 && IsProduct(graph_.nodes[NodeId(of)]);
  };
  if (is_call(unit)) {
    if (Wraps(next, home.depth)) return next;
    if (is_product(next)) return StandsInProduct(OnlyResult(unit, home.depth), next) ? next : -1;
    if (Prepares(next, home.depth)) {
      return !NamesItsParts(next, unit, home) && is_call(only_reader(next)) ? next : -1;
    }
    if (!is_call(next) || !IsNorm(graph_.nodes[NodeId(next)].op)) return -1;
    const int32_t after = only_reader(next);
    return (after >= 0 && Wraps(after, home.depth)) || IsWrappedElsewhere(next, home) ? next : -1;
  }
  if (Prepares(unit, home.depth)) return is_call(next) ? next : -1;
  return (is_product(unit) || Wraps(unit, home.depth)) && Wraps(next, home.depth) ? next : -1;
}

// x = F.interpolate(x); x = torch.cat([skip, x], 1), or one inside the other: no name of the scaled value is left
// beside a value of the encoder. What was made for the occasion is named: x = F.interpolate(x);
// self.f(torch.cat([x, low], 1)).
bool Locals::IsScaledForSkip(int32_t maker, int32_t reader, const Home& home) const {
  if (!Prepares(maker, home.depth) || !Prepares(reader, home.depth)) return false;
  const FrameworkNode& cat = graph_.nodes[NodeId(reader)];
  const TensorId scaled = graph_.nodes[NodeId(maker)].outputs[0];
  if (cat.op != "cat" || cat.inputs.size() != 2 || cat.inputs[1] != scaled) return false;
  return cat.inputs[0].valid() && graph_.tensors[cat.inputs[0]].consumers.size() >= 2;
}

// `x = F.relu(self.conv(F.interpolate(x)))`: x has its name until the whole right-hand side is done. What is made on
// the way has none.
int32_t Locals::EndOfStatement(TensorId id, const Home& home) const {
  const Units units = ReadingUnits(id, home);
  const int32_t maker = calls_.UnitEnd(graph_.tensors[id].producer.value(), home.depth);
  if (units.empty() || FeedsGaussian(id) || popped_.contains(id)) return -1;
  if (units.size() == 1 && IsScaledForSkip(maker, units[0], home)) return -1;
  if (units.size() == 1 && NextInStatement(maker, home) == units[0]) return -1;
  if (StandsInList(id, graph_.nodes[NodeId(units[0])]) || IsRebound(id, graph_.nodes[NodeId(units.back())]) ||
      TakesInSkip(id, graph_.nodes[NodeId(units[0])])) {
    return -1;
  }
  int32_t end = -1;
  for (int32_t unit = units.back(); unit >= 0; unit = NextInStatement(unit, home)) {
    if (calls_.UnitCall(unit, home.depth) < 0 && !Prepares(unit, home.depth) && end < 0) return -1;
    end = unit;
  }
  return end;
}

// joined = torch.cat(features, 1); return self.conv(self.relu(self.norm(joined))): a joined list has a name, and the
// layer that is normalized before it is convolved stands in one statement. The end of that statement, -1 if there is
// none.
int32_t Locals::EndOfPreactivation(TensorId id, const Home& home) const {
  const NodeId maker = graph_.tensors[id].producer;
  if (graph_.nodes[maker].op != "cat" || calls_.UnitCall(maker.value(), home.depth) >= 0) return -1;
  const auto next = [&](TensorId value) {
    const Units units = value.valid() ? ReadingUnits(value, home) : Units();
    return units.size() == 1 && calls_.UnitCall(units[0], home.depth) >= 0 ? units[0] : -1;
  };
  int32_t unit = next(id);
  if (unit < 0) return -1;
  const int32_t call = calls_.UnitCall(unit, home.depth);
  const CallSpan& norm = calls_.span(call);  // perhaps with its activation; no block that begins with one
  if (!IsNorm(graph_.nodes[NodeId(norm.begin)].op) || norm.end > norm.begin + 1) return -1;
  unit = next(OnlyResult(unit, home.depth));
  if (unit >= 0 && IsWrittenAround(graph_.nodes[NodeId(unit)].op)) unit = next(OnlyResult(unit, home.depth));
  return unit >= 0 && graph_.nodes[NodeId(unit)].op == "conv" ? unit : -1;
}

// The end of the norms and activations that follow the call which ends at `unit`, if all may stand in one statement.
int32_t Locals::EndOfNestedCalls(int32_t unit, const Home& home) const {
  constexpr int kMostCalls = 2;  // self.relu(self.bn(...))
  for (int step = 0; step < kMostCalls; ++step) {
    const TensorId result = OnlyResult(unit, home.depth);
    if (!result.valid() || HomeOf(result).frame != home.frame) break;
    const Units units = ReadingUnits(result, home);
    const int32_t call = units.size() == 1 ? calls_.UnitCall(units[0], home.depth) : -1;
    if (call < 0 || calls_.span(call).begin != unit + 1 || calls_.span(call).begin != calls_.span(call).end) break;
    const OpName op = graph_.nodes[NodeId(units[0])].op;
    if (!IsNorm(op) && !IsWrittenAround(op)) break;
    unit = units[0];
  }
  return unit;
}

}  // namespace onnx_mem::names
