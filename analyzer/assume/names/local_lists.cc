// The part of locals.h about lists: what is joined by torch.cat or split by torch.split, and which of the parts have
// names.
#include <algorithm>
#include <array>
#include <string_view>

#include "analyzer/assume/names/locals.h"

namespace onnx_mem::names {

// torch.cat([s, self.up(x)], 1) can stand in one expression; in torch.cat([self.blocks(a), b], 1) and in longer lists
// the parts have names already.
bool Locals::NamesItsParts(int32_t cat, int32_t call, const Home& home) const {
  const FrameworkNode& node = graph_.nodes[NodeId(cat)];
  return node.op == "cat" && (node.inputs.size() > 2 || node.inputs.back() != OnlyResult(call, home.depth));
}

// A piece of a split: an output of one, or one of several slices that lie side by side along an axis.
bool Locals::IsSplitPiece(TensorId id) const {
  const FrameworkNode* maker = graph_.MakerOf(id);
  if (maker == nullptr) return false;
  return maker->op == "split" || maker->op == "unbind" || (maker->op == "slice" && IsCutUp(maker->inputs[0]));
}

// Whether the slices of `id` are as large as it is, together.
bool Locals::IsCutUp(TensorId id) const {
  const auto [known, is_new] = cut_up_.try_emplace(id, false);
  if (!is_new) return known->second;
  int64_t pieces = 0, elements = 0;
  for (NodeId reader : graph_.tensors[id].consumers) {
    const FrameworkNode& other = graph_.nodes[reader];
    if (other.op != "slice") continue;
    ++pieces;
    elements += NumElements(graph_.tensors[other.outputs[0]].shape).value_or(0);
  }
  return known->second = pieces >= 2 && elements == NumElements(graph_.tensors[id].shape).value_or(-1);
}

// What is looked up in tables for a list, torch.cat([e(x) for e in self.tables], 1), or scaled up there to the size of
// the other parts, torch.cat([x0, x1, self.up(x2)], 1).
bool Locals::StandsInList(TensorId id, const FrameworkNode& cat) const {
  if (cat.op != "cat" || graph_.tensors[id].consumers.size() != 1) return false;
  if (IsLookedUp(id) || IsEncoding(id)) return true;
  if (cat.inputs.size() < 3 || id != cat.inputs.back()) return false;
  if (graph_.nodes[graph_.tensors[id].producer].op != "upsample") return false;
  return std::any_of(cat.inputs.begin(), cat.inputs.end(),
                     [&](TensorId part) { return part.valid() && graph_.tensors[part].consumers.size() >= 2; });
}

// torch.cat([x] + [f(x * frequency) for ...], -1): the sines and cosines of a positional encoding (NeRF).
bool Locals::IsEncoding(TensorId id) const {
  const OpName op = graph_.nodes[graph_.tensors[id].producer].op;
  return op == "sin" || op == "cos";
}

// [sin(x * f), cos(x * f)]: the product, which the exporter made one, stands in each.
bool Locals::IsEncodingArgument(TensorId id) const {
  if (graph_.nodes[graph_.tensors[id].producer].op != "mul_scalar") return false;
  const auto& readers = graph_.tensors[id].consumers;
  return std::all_of(readers.begin(), readers.end(), [&](NodeId wave) {
    const TensorId part = graph_.nodes[wave].outputs[0];
    if (!part.valid() || !IsEncoding(part) || graph_.tensors[part].consumers.size() != 1) return false;
    return graph_.nodes[graph_.tensors[part].consumers[0]].op == "cat";
  });
}

// Parts of a list that is joined later, features = [...]; torch.cat(features, 1), have names or a list of their own,
// and so has what something else reads as well. Not so beside learned tokens: x = torch.cat([token, other_token, x],
// 1).
bool Locals::IsNamedPart(TensorId id, const FrameworkNode& cat) const {
  if (popped_.contains(id)) return false;
  if (graph_.tensors[id].consumers.size() >= 2) return !IsRebound(id, cat);
  constexpr int kListSize = 3;
  int parts = 0;
  for (size_t i = 0; i < cat.inputs.size() && parts < kListSize; ++i) parts += IsToken(cat.inputs[i]) ? 0 : 1;
  return parts == kListSize && !StandsInList(id, cat);
}

// for layer in layers: outs = []; for t in steps: outs.append(cell(x)); x = torch.stack(outs): the list of one round
// ends where the next round begins its own. What is read besides has names that are not known, until the function
// returns.
int32_t Locals::EndOfList(TensorId id, NodeId cat) const {
  const int32_t end = calls_.EndOfFrame(cat.value());
  const size_t depth = calls_.of_node(cat.value()).size();
  const FrameworkNode& node = graph_.nodes[cat];
  if (node.op != "cat" || node.inputs.size() < 3 || graph_.tensors[id].consumers.size() != 1) return end;
  const int32_t frame = calls_.FrameOf(cat.value());
  const auto rounds = makers_.find({frame, Signature(node.outputs[0], depth, 1)});
  if (rounds == makers_.end()) return end;
  const auto next = std::upper_bound(rounds->second.begin(), rounds->second.end(), cat.value());
  if (next == rounds->second.end()) return end;
  TensorId first = graph_.nodes[NodeId(*next)].inputs[0];
  for (const FrameworkNode* maker = graph_.MakerOf(first); maker != nullptr && maker->op == "unsqueeze";
       maker = graph_.MakerOf(first)) {
    first = maker->inputs[0];  // torch.stack
  }
  if (!first.valid() || !graph_.tensors[first].producer.valid()) return end;
  const int32_t maker = graph_.tensors[first].producer.value();
  const int32_t call = calls_.UnitCall(maker, depth);
  const int32_t begin = call < 0 ? maker : calls_.span(call).begin;
  return begin > cat.value() ? std::min(end, begin - 1) : end;
}

// hs.append(h); ...; h = self.block(torch.cat([h, hs.pop()], dim=1)): a function that joins what it has made with older
// values, the youngest first, several of one size one after the other, takes them off a stack (the U-Nets of diffusion
// models). Decoders with one skip a level name their skips or keep a list.
void Locals::FindPoppedSkips() {
  constexpr size_t kFewest = 4;
  std::map<int32_t, TensorIds> stacks;
  for (int32_t i = 0; i < static_cast<int32_t>(graph_.nodes.size()); ++i) {
    const FrameworkNode& cat = graph_.nodes[NodeId(i)];
    if (cat.op != "cat" || cat.inputs.size() != 2 || !cat.inputs[0].valid() || !cat.inputs[1].valid()) continue;
    const Tensor &newest = graph_.tensors[cat.inputs[0]], &skip = graph_.tensors[cat.inputs[1]];
    if (!newest.producer.valid() || !skip.producer.valid() || skip.producer > newest.producer) continue;
    if (calls_.CommonDepth(graph_, cat.inputs[1]) != calls_.of_node(i).size()) continue;
    TensorIds& stack = stacks[calls_.FrameOf(i)];
    if (stack.empty() || skip.producer < graph_.tensors[stack.back()].producer) stack.push_back(cat.inputs[1]);
  }
  for (const auto& [frame, stack] : stacks) {
    if (stack.size() < kFewest) continue;
    size_t same_size = 0;
    for (size_t i = 1; i < stack.size(); ++i) {
      const Dims &a = graph_.tensors[stack[i - 1]].shape.dims, &b = graph_.tensors[stack[i]].shape.dims;
      same_size += a.size() == b.size() && a.size() > 2 && std::equal(a.begin() + 2, a.end(), b.begin() + 2);
    }
    if (2 * same_size >= stack.size()) popped_.insert(stack.begin(), stack.end());
  }
}

// A learned token, expanded to the batch.
bool Locals::IsToken(TensorId id) const {
  if (!id.valid()) return false;
  const FrameworkNode* maker = graph_.MakerOf(id);
  return maker == nullptr || maker->op == "expand";
}

// torch.cat([embed(column) for embed, column in ...], 1): what is looked up in tables has no name.
bool Locals::IsLookedUp(TensorId id) const {
  while (id.valid() && graph_.tensors[id].producer.valid() && graph_.tensors[id].consumers.size() == 1) {
    const FrameworkNode& maker = graph_.nodes[graph_.tensors[id].producer];
    if (maker.op == "embedding") return true;
    if (maker.op != "unsqueeze" && maker.op != "reshape") return false;
    id = maker.inputs[0];
  }
  return false;
}

// x = torch.cat([self.f(x), x], 1): the result takes over the name of what the other part was made of, just before.
bool Locals::IsRebound(TensorId id, const FrameworkNode& cat) const {
  if (cat.op != "cat" || cat.inputs.size() != 2 || !cat.inputs[0].valid() || !cat.inputs[1].valid()) return false;
  const TensorId other = cat.inputs[cat.inputs[0] == id ? 1 : 0];
  const NodeId join = graph_.tensors[cat.outputs[0]].producer;
  if (!graph_.tensors[other].producer.valid()) return false;
  const Home home = HomeOf(id);
  const Units units = ReadingUnits(id, home);
  const int32_t maker = calls_.UnitEnd(graph_.tensors[other].producer.value(), home.depth);
  return calls_.of_node(join.value()).size() == home.depth && calls_.UnitCall(maker, home.depth) >= 0 &&
         units.size() == 2 && units[0] == maker && maker + 1 == join.value() && units[1] == join.value();
}

// d1 = self.up(d2); d1 = torch.cat([d1, e1], 1); d1 = self.decode(d1): a module's result that stands before an older
// value hands its name on (brain-segmentation-pytorch, segmentation_models_pytorch, nnU-Net). Beside a skip from a
// stack it stands in the next call, h = self.block(torch.cat([h, hs.pop()], 1)), as often as not.
bool Locals::TakesInSkip(TensorId id, const FrameworkNode& cat) const {
  if (cat.op != "cat" || cat.inputs.size() != 2 || cat.inputs[0] != id || !cat.inputs[1].valid()) return false;
  if (popped_.contains(cat.inputs[1])) return false;
  const Tensor& skip = graph_.tensors[cat.inputs[1]];
  const Home home = HomeOf(id);
  const int32_t maker = graph_.tensors[id].producer.value();
  const int32_t join = graph_.tensors[cat.outputs[0]].producer.value();
  return calls_.UnitCall(maker, home.depth) >= 0 && calls_.UnitEnd(maker, home.depth) + 1 == join &&
         skip.producer.valid() && skip.producer.value() < maker && skip.consumers.size() >= 2;
}

}  // namespace onnx_mem::names
