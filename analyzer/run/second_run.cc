#include "analyzer/run/second_run.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace onnx_mem {
namespace {

constexpr size_t kMostNames = 12;

size_t At(int32_t i) { return static_cast<size_t>(i); }

bool IsKept(const RegionCalls& region, const KeptOutputs& kept, int32_t storage) {
  const RegionStorage& s = region.storages[At(storage)];
  if (s.maker < 0) return false;
  const std::vector<bool>& outputs = kept[At(s.maker)];
  return At(s.output) < outputs.size() && outputs[At(s.output)];
}

// Who writes over each storage.
std::vector<std::vector<int32_t>> WritersOf(const RegionCalls& region) {
  std::vector<std::vector<int32_t>> writers(region.storages.size());
  for (int32_t i = 0; At(i) < region.calls.size(); ++i) {
    for (const int32_t s : region.calls[At(i)].writes) writers[At(s)].push_back(i);
  }
  return writers;
}

// The calls that there are in place of one that is not: those of its module, else the modules.
std::string WhatThereIs(const RegionCalls& region, const CallId& missing) {
  std::vector<std::string> calls;
  std::set<std::string> modules;
  for (int32_t i = 0; At(i) < region.calls.size(); ++i) {
    const RegionCall& call = region.calls[At(i)];
    modules.insert(call.call.module);
    if (IsView(region, i)) continue;
    if (missing.module.empty() || call.call.module == missing.module) {
      calls.push_back(missing.module.empty() ? TextOf(CallId{"", call.call.op, call.nth_in_region})
                                             : absl::StrCat(call.call.op, "#", call.call.nth));
    }
  }
  std::string_view what = missing.module.empty() ? "the segment's calls are " : "the module's calls are ";
  if (calls.empty()) {
    calls.assign(modules.begin(), modules.end());
    what = "modules with calls are ";
  }
  const size_t more = calls.size() - std::min(calls.size(), kMostNames);
  calls.resize(calls.size() - more);
  return absl::StrCat(std::string(what), absl::StrJoin(calls, ", "),
                      more > 0 ? absl::StrCat(" and ", more, " more") : "");
}

// By both of its names.
absl::flat_hash_map<CallId, int32_t> CallsByName(const RegionCalls& region) {
  absl::flat_hash_map<CallId, int32_t> index;
  for (int32_t i = 0; At(i) < region.calls.size(); ++i) {
    const RegionCall& call = region.calls[At(i)];
    index.emplace(CallId{"", call.call.op, call.nth_in_region}, i);
    if (!call.call.module.empty()) index.emplace(call.call, i);
  }
  return index;
}

// What runs again so that all is there that backward functions read.
class Needed {
 public:
  Needed(const RegionCalls& region, const KeptOutputs& kept)
      : region_(region),
        kept_(kept),
        writers_(WritersOf(region)),
        needed_(region.storages.size(), false),
        runs_(region.calls.size(), false) {
    for (const SavedStorage& saved : region.saved) Need(saved.what.storage);
    while (!open_.empty()) {
      const int32_t call = open_.back();
      open_.pop_back();
      for (const StorageVersion& read : region_.calls[At(call)].reads) Need(read.storage);
    }
  }

  bool runs(int32_t call) const { return runs_[At(call)]; }

 private:
  void Need(int32_t storage) {
    if (needed_[At(storage)]) return;
    needed_[At(storage)] = true;
    const int32_t maker = region_.storages[At(storage)].maker;
    if (maker < 0 || !kept_[At(maker)].empty()) return;
    Start(maker);
  }

  // With what writes over any result of it, also over one that nobody needs: a norm may run for its statistics alone.
  void Start(int32_t call) {
    if (runs_[At(call)] || !kept_[At(call)].empty()) return;
    runs_[At(call)] = true;
    open_.push_back(call);
    for (const int32_t storage : region_.calls[At(call)].outputs) {
      if (storage < 0 || region_.storages[At(storage)].maker != call) continue;
      for (const int32_t writer : writers_[At(storage)]) Start(writer);
    }
  }

  const RegionCalls& region_;
  const KeptOutputs& kept_;
  const std::vector<std::vector<int32_t>> writers_;
  std::vector<bool> needed_;
  std::vector<bool> runs_;
  std::vector<int32_t> open_;
};

// Of `runs`, what makes or writes over storages; views follow the storages that they are on, and so do writers of what
// is kept or from outside, which never run.
std::vector<CallState> States(const RegionCalls& region, const KeptOutputs& kept, const std::vector<bool>& runs) {
  std::vector<CallState> states(region.calls.size(), CallState::kSkipped);
  const auto is_made_again = [&](int32_t s) {
    const int32_t maker = region.storages[At(s)].maker;
    return maker >= 0 && states[At(maker)] == CallState::kAgain;
  };
  for (int32_t i = 0; At(i) < region.calls.size(); ++i) {
    const RegionCall& call = region.calls[At(i)];
    const auto is_there = [&](int32_t s) {
      return s < 0 || region.storages[At(s)].maker < 0 || IsKept(region, kept, s) || is_made_again(s);
    };
    const bool writes_what_stays = std::any_of(call.writes.begin(), call.writes.end(), [&](int32_t s) {
      return region.storages[At(s)].maker < 0 || IsKept(region, kept, s);
    });
    if (!kept[At(i)].empty()) {
      states[At(i)] = CallState::kKept;
    } else if (IsView(region, i) ? std::all_of(call.outputs.begin(), call.outputs.end(), is_there)
                                 : runs[At(i)] && !writes_what_stays) {
      states[At(i)] = CallState::kAgain;
    }
  }
  return states;
}

class Checker {
 public:
  Checker(const RegionCalls& region, const KeptOutputs& kept, const std::vector<CallState>& states)
      : region_(region), kept_(kept), states_(states), writers_(WritersOf(region)) {}

  std::string WrongRead() const {
    for (int32_t i = 0; At(i) < region_.calls.size(); ++i) {
      const RegionCall& call = region_.calls[At(i)];
      if (states_[At(i)] == CallState::kAgain && !IsView(region_, i)) {
        for (const StorageVersion& read : call.reads) {
          const std::string wrong = WrongWith(read, TextOf(call.call));
          if (!wrong.empty()) return wrong;
        }
      }
      const std::string wrong = WrongWrite(i);
      if (!wrong.empty()) return wrong;
    }
    for (const SavedStorage& saved : region_.saved) {
      if (IsThere(saved.what.storage)) continue;
      return absl::StrCat("the backward of '", TextOf(region_.calls[At(saved.call)].call), "' reads ",
                          Missing(saved.what.storage));
    }
    return "";
  }

 private:
  bool IsThere(int32_t storage) const {
    const int32_t maker = region_.storages[At(storage)].maker;
    return maker < 0 || states_[At(maker)] == CallState::kAgain || IsKept(region_, kept_, storage);
  }

  std::string Missing(int32_t storage) const {
    const RegionStorage& s = region_.storages[At(storage)];
    return absl::StrCat("output ", static_cast<int>(s.output), " of '", TextOf(region_.calls[At(s.maker)].call),
                        "', which is neither kept nor made again");
  }

  std::string WrongWith(const StorageVersion& read, const std::string& reader) const {
    if (!IsThere(read.storage)) return absl::StrCat("'", reader, "' runs again and reads ", Missing(read.storage));
    if (!IsKept(region_, kept_, read.storage) || At(read.version) >= writers_[At(read.storage)].size()) return "";
    const RegionStorage& s = region_.storages[At(read.storage)];
    return absl::StrCat("'", reader, "' runs again and reads what '", TextOf(region_.calls[At(s.maker)].call),
                        "' made before it was written over, and it is kept as written over");
  }

  // Those of one storage run all or none, with its maker.
  std::string WrongWrite(int32_t call) const {
    const bool again = states_[At(call)] == CallState::kAgain;
    for (const int32_t storage : region_.calls[At(call)].writes) {
      const int32_t maker = region_.storages[At(storage)].maker;
      const bool made_again = maker >= 0 && states_[At(maker)] == CallState::kAgain;
      if (again == made_again) continue;
      return absl::StrCat("'", TextOf(region_.calls[At(call)].call), again ? "' runs again" : "' is skipped",
                          " and writes over what is ", again ? "not made again" : "made again");
    }
    return "";
  }

  const RegionCalls& region_;
  const KeptOutputs& kept_;
  const std::vector<CallState>& states_;
  const std::vector<std::vector<int32_t>> writers_;
};

}  // namespace

KeptInRegion KeptIn(const RegionCalls& region, const std::vector<KeptCall>& kept) {
  KeptInRegion found;
  found.outputs.resize(region.calls.size());
  const absl::flat_hash_map<CallId, int32_t> by_name = CallsByName(region);
  for (const KeptCall& entry : kept) {
    const auto at = by_name.find(entry.call);
    if (at == by_name.end()) {
      found.error =
          absl::StrCat("'", TextOf(entry.call), "' is no call of the segment: ", WhatThereIs(region, entry.call));
      return found;
    }
    const RegionCall& call = region.calls[At(at->second)];
    if (IsView(region, at->second)) {
      found.error = absl::StrCat("'", TextOf(entry.call), "' makes a view: keep the call that made its storage");
      return found;
    }
    std::vector<bool>& outputs = found.outputs[At(at->second)];
    outputs.resize(call.outputs.size(), entry.outputs.empty());
    for (const int8_t output : entry.outputs) {
      if (At(output) >= call.outputs.size() || call.outputs[At(output)] < 0) {
        found.error = absl::StrCat("'", TextOf(entry.call), "' has no output ", static_cast<int>(output));
        return found;
      }
      outputs[At(output)] = true;
    }
  }
  return found;
}

std::vector<CallState> StatesOf(const RegionCalls& region, const KeptOutputs& kept) {
  const Needed needed(region, kept);
  std::vector<bool> runs(region.calls.size());
  for (int32_t i = 0; At(i) < region.calls.size(); ++i) runs[At(i)] = needed.runs(i);
  return States(region, kept, runs);
}

StatesInRegion StatesBySkip(const RegionCalls& region, const KeptOutputs& kept, const std::vector<CallId>& skip) {
  StatesInRegion found;
  const absl::flat_hash_map<CallId, int32_t> by_name = CallsByName(region);
  std::vector<bool> runs(region.calls.size(), true);
  for (const CallId& entry : skip) {
    const auto at = by_name.find(entry);
    if (at == by_name.end()) {
      found.error = absl::StrCat("'", TextOf(entry), "' is no call of the segment: ", WhatThereIs(region, entry));
      return found;
    }
    runs[At(at->second)] = false;
    if (!kept[At(at->second)].empty()) {
      found.error = absl::StrCat("'", TextOf(entry), "' is kept and skipped");
      return found;
    }
  }
  found.states = States(region, kept, runs);
  return found;
}

std::string WrongReadIn(const RegionCalls& region, const KeptOutputs& kept, const std::vector<CallState>& states) {
  return Checker(region, kept, states).WrongRead();
}

std::vector<CallId> SkippedCalls(const RegionCalls& region, const std::vector<CallState>& states) {
  std::vector<CallId> skipped;
  for (size_t i = 0; i < region.calls.size(); ++i) {
    if (states[i] == CallState::kSkipped) skipped.push_back(region.calls[i].call);
  }
  return skipped;
}

}  // namespace onnx_mem
