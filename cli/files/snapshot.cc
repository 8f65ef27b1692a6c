// The form of a snapshot: torch/csrc/cuda/memory_snapshot.cpp and the comment of torch.cuda.memory._snapshot. Its
// events end at the moment of the snapshot, whose blocks are listed: so the peak is found by undoing events, last
// first. That also holds where the history is cut at its beginning (max_entries).
#include "cli/files/snapshot.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/graph/whole_file.h"
#include "cli/files/pickle_reader.h"

namespace onnx_mem {
namespace {

using ValueId = PickledValues::Id;
using Kind = PickledValues::Kind;

constexpr int64_t kMostBytes = int64_t{1} << 50;  // no device has more, and beyond it sums could overflow

int64_t SizeAt(const PickledValues& values, ValueId dict, std::string_view key) {
  return std::clamp<int64_t>(values.IntOf(values.At(dict, key)), 0, kMostBytes);
}

int64_t Rounded(int64_t bytes) { return (bytes + 511) / 512 * 512; }

std::string BaseNameOf(std::string_view path) {
  const size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

// The innermost Python line outside the framework; failing that the innermost frame.
std::string WhereOf(const PickledValues& values, ValueId owner) {
  std::string innermost;
  for (ValueId frame : values.ItemsOf(values.At(owner, "frames"))) {
    const std::string_view file = values.TextOf(values.At(frame, "filename"));
    const std::string_view name = values.TextOf(values.At(frame, "name"));
    if (file.empty() && name.empty()) continue;
    const std::string reported =
        absl::StrFormat("%s:%d %s", BaseNameOf(file), values.IntOf(values.At(frame, "line")), std::string(name));
    if (innermost.empty()) innermost = reported;
    const bool python = absl::EndsWith(absl::string_view(file.data(), file.size()), ".py");
    const bool own = file.find("/torch/") == std::string_view::npos;
    if (python && own) return reported;
  }
  return innermost;
}

struct Live {
  int64_t bytes = 0;
  ValueId owner = 0;  // has the frames
};

// One device's state, which events are undone from.
class History {
 public:
  History(const PickledValues& values, int64_t device) : values_(values) {
    for (ValueId segment : values.ItemsOf(values.At(values.root(), "segments"))) {
      if (values.IntOf(values.At(segment, "device")) != device) continue;
      reserved_ = std::min(kMostBytes, reserved_ + SizeAt(values, segment, "total_size"));
      int64_t address = values.IntOf(values.At(segment, "address"));
      for (ValueId block : values.ItemsOf(values.At(segment, "blocks"))) {
        const int64_t size = SizeAt(values, block, "size");
        const ValueId given = values.At(block, "address");
        if (values.KindOf(given) == Kind::kInt) address = values.IntOf(given);
        if (values.TextOf(values.At(block, "state")) == "active_allocated") {
          const ValueId requested = values.At(block, "requested_size");
          Add(address, values.KindOf(requested) == Kind::kInt ? SizeAt(values, block, "requested_size") : size, block);
        }
        address = static_cast<int64_t>(static_cast<uint64_t>(address) + static_cast<uint64_t>(size));
      }
    }
    const std::vector<ValueId>& traces = values.ItemsOf(values.At(values.root(), "device_traces"));
    if (static_cast<size_t>(device) < traces.size()) events_ = values.ItemsOf(traces[static_cast<size_t>(device)]);
    ends_at_request_ = std::any_of(events_.begin(), events_.end(), [&](ValueId event) {
      return values.TextOf(values.At(event, "action")) == "free_requested";
    });
  }

  Snapshot Run() {
    Snapshot snapshot;
    snapshot.events = static_cast<int64_t>(events_.size());
    Note(snapshot, events_.size());
    const History before_undoing = *this;
    for (size_t i = events_.size(); i > 0; --i) {
      Undo(events_[i - 1]);
      Note(snapshot, i - 1);
    }
    // Once more, as far as the peak, to see who was there.
    History at_peak = before_undoing;
    for (size_t i = events_.size(); i > peak_at_; --i) at_peak.Undo(events_[i - 1]);
    for (const auto& [address, live] : at_peak.live_) {
      snapshot.blocks.push_back({live.bytes, WhereOf(values_, live.owner)});
    }
    std::sort(snapshot.blocks.begin(), snapshot.blocks.end(), [](const SnapshotBlock& a, const SnapshotBlock& b) {
      return std::pair(b.bytes, a.where) < std::pair(a.bytes, b.where);
    });
    return snapshot;
  }

  int64_t reserved() const { return reserved_; }

 private:
  void Add(int64_t address, int64_t bytes, ValueId owner) {
    Remove(address);
    if (requested_ > kMostBytes) return;
    live_[address] = {bytes, owner};
    requested_ += bytes;
    allocated_ += Rounded(bytes);
  }

  void Remove(int64_t address) {
    const auto found = live_.find(address);
    if (found == live_.end()) return;
    requested_ -= found->second.bytes;
    allocated_ -= Rounded(found->second.bytes);
    live_.erase(found);
  }

  void Undo(ValueId event) {
    const std::string_view action = values_.TextOf(values_.At(event, "action"));
    const int64_t address = values_.IntOf(values_.At(event, "addr"));
    const int64_t bytes = SizeAt(values_, event, "size");
    if (action == "alloc") Remove(address);
    if (action == (ends_at_request_ ? "free_requested" : "free_completed")) Add(address, bytes, event);
    if (action == "segment_alloc" || action == "segment_map") reserved_ = std::max<int64_t>(0, reserved_ - bytes);
    if (action == "segment_free" || action == "segment_unmap") reserved_ = std::min(kMostBytes, reserved_ + bytes);
  }

  void Note(Snapshot& snapshot, size_t at) {
    snapshot.reserved_peak_bytes = std::max(snapshot.reserved_peak_bytes, reserved_);
    snapshot.allocated_peak_bytes = std::max(snapshot.allocated_peak_bytes, allocated_);
    if (requested_ <= snapshot.requested_peak_bytes) return;
    snapshot.requested_peak_bytes = requested_;
    peak_at_ = at;
  }

  const PickledValues& values_;
  absl::flat_hash_map<int64_t, Live> live_;
  std::vector<ValueId> events_;
  bool ends_at_request_ = false;
  int64_t requested_ = 0;
  int64_t allocated_ = 0;
  int64_t reserved_ = 0;
  size_t peak_at_ = 0;
};

}  // namespace

absl::StatusOr<Snapshot> ParseSnapshot(std::string_view bytes, const std::string& path) {
  ASSIGN_OR_RETURN(const PickledValues values, ReadPickle(bytes, path));
  const ValueId segments = values.At(values.root(), "segments"), traces = values.At(values.root(), "device_traces");
  if (values.KindOf(segments) != Kind::kList || values.KindOf(traces) != Kind::kList) {
    return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kBadPickle,
                       absl::StrFormat("'%s' is no snapshot of PyTorch's allocator: no segments and traces", path),
                       {"try: torch.cuda.memory._record_memory_history(), a step, then "
                        "torch.cuda.memory._dump_snapshot(\"snapshot.pickle\")"});
  }
  // The device of most memory; a trace alone counts too.
  std::map<int64_t, int64_t> reserved;
  for (ValueId segment : values.ItemsOf(segments)) {
    int64_t& sum = reserved[values.IntOf(values.At(segment, "device"))];
    sum = std::min(kMostBytes, sum + SizeAt(values, segment, "total_size"));
  }
  for (size_t i = 0; i < values.ItemsOf(traces).size(); ++i) {
    if (!values.ItemsOf(values.ItemsOf(traces)[i]).empty()) reserved.try_emplace(static_cast<int64_t>(i), 0);
  }
  if (reserved.empty()) {
    return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kBadPickle,
                       absl::StrFormat("'%s' holds no allocation: nothing was recorded", path),
                       {"try: torch.cuda.memory._record_memory_history() before the step"});
  }
  const auto largest = std::max_element(reserved.begin(), reserved.end(),
                                        [](const auto& a, const auto& b) { return a.second < b.second; });
  return History(values, largest->first).Run();
}

absl::StatusOr<Snapshot> ReadSnapshot(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadWholeFile(path));
  return ParseSnapshot(bytes, path);
}

}  // namespace onnx_mem
