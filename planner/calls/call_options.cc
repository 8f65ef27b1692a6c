#include "planner/calls/call_options.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "analyzer/run/second_run.h"
#include "planner/measure/index.h"

namespace onnx_mem {
namespace {

// The values of a region: its storages, once for each time that they are written.
class Values {
 public:
  explicit Values(const RegionCalls& region)
      : first_(region.storages.size(), -1), versions_(region.storages.size(), 1) {
    for (const RegionCall& call : region.calls) {
      for (int32_t storage : call.writes) ++versions_[Index(storage)];
    }
    for (size_t s = 0; s < region.storages.size(); ++s) {
      if (region.storages[s].maker < 0) continue;
      first_[s] = count_;
      count_ += versions_[s];
      for (int32_t v = 0; v < versions_[s]; ++v) storage_.push_back(static_cast<int32_t>(s));
    }
  }

  int32_t count() const { return count_; }
  bool Has(int32_t storage) const { return first_[Index(storage)] >= 0; }
  int32_t At(StorageVersion what) const { return first_[Index(what.storage)] + what.version; }
  int32_t LastOf(int32_t storage) const { return first_[Index(storage)] + versions_[Index(storage)] - 1; }
  int32_t StorageOf(int32_t value) const { return storage_[Index(value)]; }
  bool IsWritten(int32_t value) const { return versions_[Index(StorageOf(value))] > 1; }
  // Only what a storage finally became can be kept: the kept bytes are those that later calls wrote over.
  bool IsLast(int32_t value) const { return value + 1 == count_ || StorageOf(value) != StorageOf(value + 1); }

 private:
  std::vector<int32_t> first_;     // by storage; -1: from outside
  std::vector<int32_t> versions_;  // by storage: how many
  std::vector<int32_t> storage_;   // by value
  int32_t count_ = 0;
};

// What a call makes: storages of its own, and new versions of those that it writes over.
class Makers {
 public:
  Makers(const RegionCalls& region, const Values& values) : made_(region.calls.size()) {
    for (size_t s = 0; s < region.storages.size(); ++s) {
      const auto storage = static_cast<int32_t>(s);
      if (values.Has(storage)) made_[Index(region.storages[s].maker)].push_back(values.At({storage, 0}));
    }
    std::vector<int32_t> version(region.storages.size(), 0);
    for (size_t i = 0; i < region.calls.size(); ++i) {
      for (int32_t storage : region.calls[i].writes) {
        ++version[Index(storage)];
        if (values.Has(storage)) made_[i].push_back(values.At({storage, version[Index(storage)]}));
      }
    }
  }

  const std::vector<int32_t>& Of(size_t call) const { return made_[call]; }

 private:
  std::vector<std::vector<int32_t>> made_;
};

void Unite(std::vector<int32_t>& list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

void Append(std::string& key, const std::vector<int32_t>& numbers) {
  key.append(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(int32_t));
  key.push_back('|');
}

// The same for regions with equal fronts.
std::string SignatureOf(const CutRegion& region) {
  std::string key;
  for (const CutRegion::Call& call : region.calls) {
    key.append(reinterpret_cast<const char*>(&call.cost), sizeof call.cost);
    Append(key, call.reads);
    Append(key, call.makes);
  }
  key.append(reinterpret_cast<const char*>(region.bytes.data()), region.bytes.size() * sizeof(int64_t));
  key.append(reinterpret_cast<const char*>(region.move_cost.data()), region.move_cost.size() * sizeof(int64_t));
  Append(key, region.saved);
  for (const CutRegion::Pair& pair : region.together) Append(key, {pair.first, pair.then});
  return key;
}

// `kept`: values.
std::vector<KeptCall> KeptCallsIn(const RegionCalls& region, const Values& values, const std::vector<int32_t>& kept) {
  std::map<int32_t, KeptCall> by_call;
  for (int32_t value : kept) {
    const RegionStorage& storage = region.storages[Index(values.StorageOf(value))];
    KeptCall& of_maker = by_call[storage.maker];
    of_maker.call = region.calls[Index(storage.maker)].call;
    of_maker.outputs.push_back(storage.output);
  }
  std::vector<KeptCall> calls;
  for (auto& [call, of_call] : by_call) {
    std::sort(of_call.outputs.begin(), of_call.outputs.end());
    calls.push_back(std::move(of_call));
  }
  return calls;
}

int64_t PriceOf(const LinkPrice& link, int64_t bytes) {
  return link.ns_per_tensor + static_cast<int64_t>(link.ns_per_byte * static_cast<double>(bytes));
}

// What nobody but the range reads, of what it is given: bytes of distinct storages that its second run alone holds.
std::vector<int64_t> OwnInputsOf(const RegionCalls& whole, const Candidate& range) {
  std::vector<bool> read(whole.storages.size(), false), others(whole.storages.size(), false);
  for (const RegionCall& call : whole.calls) {
    const bool inside = call.node >= range.first && call.node <= range.last;
    for (const StorageVersion& what : call.reads) {
      const RegionStorage& storage = whole.storages[Index(what.storage)];
      if (storage.maker < 0 || whole.calls[Index(storage.maker)].node >= range.first) continue;
      (inside ? read : others)[Index(what.storage)] = true;
    }
  }
  std::vector<int64_t> bytes;
  for (size_t s = 0; s < read.size(); ++s) {
    if (read[s] && !others[s] && whole.storages[s].bytes >= kLeastOffloadBytes)
      bytes.push_back(whole.storages[s].bytes);
  }
  return bytes;
}

int64_t FlopsOf(const RegionCalls& region, const std::vector<int32_t>& calls) {
  int64_t flops = 0;
  for (int32_t call : calls) flops += region.calls[Index(call)].flops;
  return flops;
}

// The calls of a region as a cut takes them: what an operator costs by `line`. `link`: tensors may go to the host.
CutRegion CutRegionOf(const RegionCalls& region, CostLine line, const std::optional<LinkPrice>& link) {
  const Values values(region);
  const Makers makers(region, values);
  CutRegion cut;
  for (int32_t v = 0; v < values.count(); ++v) {
    const RegionStorage& storage = region.storages[Index(values.StorageOf(v))];
    cut.bytes.push_back(!values.IsLast(v) ? CutRegion::kNever : storage.leaves ? 0 : storage.bytes);
    if (!link) continue;
    const bool moves = !values.IsWritten(v) && !storage.leaves && storage.bytes >= kLeastOffloadBytes;
    cut.move_cost.push_back(moves ? PriceOf(*link, storage.bytes) : CutRegion::kNever);
  }
  for (size_t i = 0; i < region.calls.size(); ++i) {
    const RegionCall& call = region.calls[i];
    CutRegion::Call& in_cut = cut.calls.emplace_back();
    in_cut.makes = makers.Of(i);
    if (in_cut.makes.empty()) continue;  // a view, or an effect that no second run repeats
    in_cut.cost = IsEffectful(region, static_cast<int32_t>(i)) ? CutRegion::kNever
                  : line == CostLine::kTime                    ? call.ns
                                                               : call.flops;
    for (const StorageVersion& what : call.reads) {
      if (values.Has(what.storage)) in_cut.reads.push_back(values.At(what));
    }
    Unite(in_cut.reads);
    for (int32_t storage : call.writes) {
      if (values.Has(storage)) cut.together.push_back({region.storages[Index(storage)].maker, static_cast<int32_t>(i)});
    }
  }
  for (const SavedStorage& saved : region.saved) {
    // Autograd refuses what is written over after it was saved.
    if (values.Has(saved.what.storage)) cut.saved.push_back(values.LastOf(saved.what.storage));
  }
  Unite(cut.saved);
  return cut;
}

class OptionFinder {
 public:
  OptionFinder(const RegionCalls& whole, CostLine line, int64_t call_cost, const OptionLimits& limits,
               const std::optional<LinkPrice>& link)
      : whole_(whole), line_(line), call_cost_(call_cost), limits_(limits), link_(link) {}

  void Add(const Candidate& range, const SegmentLimits::Range& base) {
    const RegionCalls region = PartOf(whole_, range.first, range.last);
    const Values values(region);
    const std::optional<LinkPrice> link = LinkAt(range);
    const CutFront& front = FrontOfRegion(region, range, link);
    std::vector<int64_t> inputs;
    if (link) inputs = OwnInputsOf(whole_, range);
    for (size_t i = 0; i < front.options.size(); ++i) {
      const CutOption& option = front.options[i];
      const int64_t held = i == 0 ? std::min(front.least_bytes, option.held_bytes) : option.held_bytes;
      AddRow(base, held, front.least_cost[i], options_.proven);
      if (option.held_bytes >= base.frees_bytes) continue;
      AddRow(base, option.held_bytes, option.cost, options_.limits);
      AddCandidate(range, region, values, option, /*host_inputs=*/false);
      if (inputs.empty()) continue;
      int64_t freed = 0, price = 0;
      for (int64_t bytes : inputs) freed += bytes, price += PriceOf(*link, bytes);
      AddRow(base, option.held_bytes - freed, option.cost + price, options_.limits);
      AddCandidate(range, region, values, option, /*host_inputs=*/true);
    }
  }

  CallOptions Take() { return std::move(options_); }

 private:
  // Of four parts of the forward, each with a price: equal ranges of one part have one front.
  std::optional<LinkPrice> LinkAt(const Candidate& range) const {
    if (!link_ || whole_.calls.empty()) return std::nullopt;
    const int64_t part = int64_t{4} * range.first / (int64_t{whole_.calls.back().node} + 1);
    return LinkPrice{link_->ns_per_byte * (1.0 + static_cast<double>(part) / 4), link_->ns_per_tensor};
  }

  const CutFront& FrontOfRegion(const RegionCalls& region, const Candidate& range,
                                const std::optional<LinkPrice>& link) {
    const CutRegion cut = CutRegionOf(region, line_, link);
    const bool run = range.is_run || range.is_block;
    const auto [entry, is_new] = fronts_.try_emplace(SignatureOf(cut));
    if (is_new) entry->second = FrontOf(cut, {.corners = run ? limits_.corners : limits_.few_corners});
    return entry->second;
  }

  void AddRow(const SegmentLimits::Range& base, int64_t held_bytes, int64_t cost, SegmentLimits& limits) const {
    SegmentLimits::Range row = base;
    row.frees_bytes -= held_bytes;
    row.cost = cost > 0 ? cost + call_cost_ : 0;
    if (row.frees_bytes > 0) limits.ranges.push_back(row);
  }

  void AddCandidate(const Candidate& range, const RegionCalls& region, const Values& values, const CutOption& option,
                    bool host_inputs) {
    const SegmentLimits::Range& row = options_.limits.ranges.back();
    Candidate candidate = range;
    candidate.segment.keep_calls = KeptCallsIn(region, values, option.kept);
    candidate.segment.host_calls = KeptCallsIn(region, values, option.moved);
    candidate.segment.host_inputs = host_inputs;
    if (candidate.segment.moves_some()) candidate.segment.offload = Offload::kWaiting;
    // A segment that keeps nothing is one of modules, whose second run skips nothing, unless it says so.
    if (candidate.segment.keep_calls.empty() && !candidate.segment.moves_some()) {
      const KeptOutputs nothing(region.calls.size());
      candidate.segment.skip = SkippedCalls(region, StatesOf(region, nothing));
    }
    options_.candidates.push_back(std::move(candidate));
    CandidateFigures figures;
    figures.saves_bytes = row.frees_bytes;
    figures.recompute_flops = FlopsOf(region, option.again);
    figures.cost = row.cost;
    figures.rerun_peak_bytes = row.live_bytes;
    options_.figures.push_back(figures);
  }

  const RegionCalls& whole_;
  CostLine line_;
  int64_t call_cost_;
  OptionLimits limits_;
  std::optional<LinkPrice> link_;
  std::map<std::string, CutFront> fronts_;  // by signature
  CallOptions options_;
};

}  // namespace

CallOptions OptionsOf(const RegionCalls& whole, const std::vector<Candidate>& ranges, const SegmentLimits& base,
                      CostLine line, int64_t call_cost, const OptionLimits& limits,
                      const std::optional<LinkPrice>& link) {
  OptionFinder finder(whole, line, call_cost, limits, link);
  for (size_t i = 0; i < ranges.size(); ++i) finder.Add(ranges[i], base.ranges[i]);
  CallOptions options = finder.Take();
  for (SegmentLimits* of : {&options.limits, &options.proven}) {
    of->node_live = base.node_live;
    of->loss_live = base.loss_live;
    of->constant_live = base.constant_live;
  }
  return options;
}

}  // namespace onnx_mem
