// Operators whose output size is given as contents: targets, repeats, limits.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "analyzer/onnx/rebatch/rule.h"
#include "onnx/onnx_pb.h"

namespace onnx_mem {
namespace {

Ruling EditExpand(const BatchSite& site, const Traces& wanted) {
  Ruling ruling;
  const Operand& out = site.outputs[0];
  const std::vector<int64_t>* target = IntsAt(site, 1);
  if (target == nullptr) return ruling;
  ContentsEdit edit{.input = 1, .base = *target, .elements = Traces(target->size())};
  for (size_t e = 0; e < target->size(); ++e) edit.elements[e] = FollowsAlready(InputAt(site, 1), e, site.variables);
  bool any = false;
  for (size_t back = 1; back <= std::min(target->size(), out.base.rank()); ++back) {
    const size_t t = target->size() - back;
    const Trace& trace = wanted[out.base.rank() - back];
    // A 1 in the target leaves the dim as it is.
    if (!trace.any() || edit.elements[t].any() || ((*target)[t] == 1 && out.base.dims[out.base.rank() - back] != 1))
      continue;
    edit.elements[t] = trace;
    any = true;
  }
  if (any) ruling.edits.push_back(std::move(edit));
  return ruling;
}

Ruling FollowExpand(const BatchSite& site) {
  const Operand &data = InputAt(site, 0), &out = site.outputs[0];
  if (!Known(data) || !Known(out)) return {};
  const size_t rank = std::min(data.base.rank(), out.base.rank());
  Traces traces(out.base.rank()), wanted(data.base.rank());
  const std::vector<int64_t>* target = IntsAt(site, 1);
  for (size_t back = 1; back <= rank; ++back) {
    const size_t d = data.base.rank() - back;
    traces[out.base.rank() - back] = data.traces[d];
    if (target == nullptr || target->size() < back) continue;
    // A zero state of the exported batch, expanded to a target that follows: the state has to follow too.
    const size_t e = target->size() - back;
    if (data.base.dims[d] == (*target)[e]) wanted[d] = FollowsAlready(InputAt(site, 1), e, site.variables);
  }
  Ruling ruling = EditExpand(site, traces);
  WishFor(site, 0, wanted, ruling, Ones::kConstant);
  return ruling;
}

Ruling GrantExpand(const BatchSite& site, int) {
  const Operand& out = site.outputs[0];
  Ruling ruling = EditExpand(site, out.traces);
  const Operand& data = InputAt(site, 0);
  // A dim of 1 in the data is what the Expand expands.
  if (Known(data)) {
    Ruling below;
    AskAligned(site, 0, Aligned(data, out.base.dims, out.traces, 0), below);
    ruling.wishes = std::move(below.wishes);
  }
  return OrNotUnderstood(std::move(ruling));
}

// Resize (sizes): what was enlarged in proportion is enlarged in proportion.
Ruling FollowResize(const BatchSite& site) {
  Ruling ruling;
  const Operand& data = InputAt(site, 0);
  constexpr size_t kSizes = 3;
  const std::vector<int64_t>* sizes = IntsAt(site, kSizes);
  if (!Known(data) || sizes == nullptr || sizes->size() != data.base.rank()) return ruling;
  ContentsEdit edit{.input = kSizes, .base = *sizes, .elements = data.traces};
  for (size_t d = 0; d < sizes->size(); ++d) {
    const Trace computed = FollowsAlready(InputAt(site, kSizes), d, site.variables);
    if (computed.any()) edit.elements[d] = computed;
    if (!Scaled((*sizes)[d], edit.elements[d], site.variables, Sizes::kTarget)) return NotUnderstood();
  }
  if (AnyScaled(edit.elements)) ruling.edits.push_back(std::move(edit));
  return ruling;
}

// The output's shape is the contents of input `input`: ConstantOfShape, RandomNormal of a shape.
Ruling GrantShapeInput(const BatchSite& site, int) {
  const Operand& out = site.outputs[0];
  const std::vector<int64_t>* shape = IntsAt(site, 0);
  if (shape == nullptr || shape->size() != out.base.rank()) return NotUnderstood();
  Ruling ruling;
  ruling.edits.push_back({.input = 0, .base = *shape, .elements = out.traces});
  return ruling;
}

// Tile repeats the batch times what held one sample.
Ruling GrantTile(const BatchSite& site, int) {
  const Operand& out = site.outputs[0];
  const std::vector<int64_t>* repeats = IntsAt(site, 1);
  const Operand& data = InputAt(site, 0);
  if (repeats == nullptr || !Known(data) || repeats->size() != out.base.rank()) return NotUnderstood();
  Ruling ruling;
  ContentsEdit edit{.input = 1, .base = *repeats, .elements = Traces(repeats->size())};
  Traces wanted(data.base.rank());
  bool any = false;
  for (size_t d = 0; d < out.base.rank(); ++d) {
    if (!out.traces[d].any()) continue;
    const bool repeated = Scaled((*repeats)[d], out.traces[d], site.variables, Sizes::kTarget).has_value() &&
                          ((*repeats)[d] != 1 || out.base.dims[d] == 1);
    (repeated ? edit.elements[d] : wanted[d]) = out.traces[d];
    any |= repeated;
  }
  if (any) ruling.edits.push_back(std::move(edit));
  WishFor(site, 0, wanted, ruling);
  return ruling;
}

// Range(0, n, 1), as positions are made.
Ruling GrantRange(const BatchSite& site, int) {
  const auto *start = IntsAt(site, 0), *limit = IntsAt(site, 1), *step = IntsAt(site, 2);
  if (start == nullptr || limit == nullptr || step == nullptr) return NotUnderstood();
  if (start->size() != 1 || limit->size() != 1 || step->size() != 1 || (*start)[0] != 0 || (*step)[0] != 1)
    return NotUnderstood();
  Ruling ruling;
  ruling.edits.push_back({.input = 1, .base = *limit, .elements = site.outputs[0].traces});
  return ruling;
}

}  // namespace

absl::Span<const BatchRow> SizeRows() {
  static constexpr auto kRows = std::to_array<BatchRow>({
      {"ConstantOfShape", nullptr, GrantShapeInput},
      {"Expand", FollowExpand, GrantExpand},
      {"Range", nullptr, GrantRange},
      {"Resize", FollowResize, nullptr},
      {"Tile", nullptr, GrantTile},
  });
  return kRows;
}

}  // namespace onnx_mem
