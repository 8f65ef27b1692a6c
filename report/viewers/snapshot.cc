// Report -> a snapshot as torch.cuda.memory._dump_snapshot writes it, for PyTorch's viewer (pytorch.org/memory_viz,
// torch.cuda._memory_viz): every buffer of one step at the address that the allocator would give it. Sizes are those
// needed, as in the events of a real one: the most that is allocated at once is our peak.
//
// What is there before the step is allocated first; what is left behind it lies in the one segment.
#include <algorithm>
#include <map>

#include "absl/strings/str_format.h"
#include "report/page/page.h"
#include "report/parts/figures.h"
#include "report/parts/formats.h"
#include "report/parts/pickle_writer.h"
#include "report/viewers/drawn_runs.h"

namespace onnx_mem {
namespace {

constexpr int64_t kBase = int64_t{1} << 32;  // a null address reads like an error
constexpr int64_t kAlignment = 512;
constexpr int64_t kSegment = int64_t{2} << 20;

// A place for each buffer: the allocator's, else behind all others.
std::vector<int64_t> AddressesOf(const RunFigures& figures) {
  const auto& buffers = figures.program->buffers;
  std::vector<int64_t> addresses = figures.addresses;
  addresses.resize(buffers.size(), -1);
  int64_t top = 0;
  const auto rounded = [](int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; };
  for (size_t i = 0; i < addresses.size(); ++i) {
    const int64_t bytes = buffers[BufferId(static_cast<int32_t>(i))].bytes;
    if (addresses[i] >= 0) top = std::max(top, addresses[i] + rounded(bytes));
  }
  for (size_t i = 0; i < addresses.size(); ++i) {
    if (addresses[i] >= 0) continue;
    addresses[i] = top;
    top += rounded(buffers[BufferId(static_cast<int32_t>(i))].bytes);
  }
  return addresses;
}

class SnapshotWriter {
 public:
  explicit SnapshotWriter(const RunFigures& figures) : program_(*figures.program), addresses_(AddressesOf(figures)) {
    for (BufferId id(0); program_.buffers.contains(id); id = BufferId(id.value() + 1)) {
      segment_bytes_ = std::max(segment_bytes_, addresses_[id.index()] + program_.buffers[id].bytes);
    }
    segment_bytes_ = (segment_bytes_ + kSegment - 1) / kSegment * kSegment;
  }

  std::string Write() {
    pickle_.BeginDict();
    pickle_.String("segments").BeginList();
    WriteSegment();
    pickle_.EndList();
    pickle_.String("device_traces").BeginList().BeginList();
    WriteTrace();
    pickle_.EndList().EndList();
    pickle_.String("allocator_settings").BeginDict().EndDict();
    pickle_.String("external_annotations").BeginList().EndList();
    pickle_.EndDict();
    return pickle_.Take();
  }

 private:
  bool IsLeft(const Buffer& buffer) const { return buffer.end.index() == program_.steps.size() && buffer.bytes > 0; }

  void WriteFrame(std::string_view name, std::string_view file, int64_t line) {
    pickle_.BeginDict();
    pickle_.String("name").String(CleanText(name));
    pickle_.String("filename").String(CleanText(file));
    pickle_.String("line").Int(line).EndDict();
  }

  // Innermost first, as in a stack: the tensor, the operator that made it, its module.
  void WriteFrames(const Buffer& buffer) {
    pickle_.String("frames").BeginList();
    const std::string category = Words(NameOf(buffer.category));
    WriteFrame(buffer.name, category, buffer.begin.value());
    if (program_.steps.contains(buffer.begin) && buffer.begin.value() > 0) {
      const Step& step = program_.steps[buffer.begin];
      WriteFrame(step.op, NameOf(step.phase), buffer.begin.value());
    }
    WriteFrame(buffer.module.empty() ? "(no module)" : buffer.module, category, buffer.begin.value());
    pickle_.EndList();
  }

  void WriteSegment() {
    std::map<int64_t, BufferId> left;  // by address
    int64_t left_bytes = 0;
    for (BufferId id(0); program_.buffers.contains(id); id = BufferId(id.value() + 1)) {
      if (!IsLeft(program_.buffers[id])) continue;
      left.emplace(addresses_[id.index()], id);
      left_bytes += program_.buffers[id].bytes;
    }
    pickle_.BeginDict();
    pickle_.String("device").Int(0).String("address").Int(kBase).String("total_size").Int(segment_bytes_);
    pickle_.String("allocated_size").Int(left_bytes).String("active_size").Int(left_bytes);
    pickle_.String("requested_size").Int(left_bytes).String("stream").Int(0).String("segment_type").String("large");
    pickle_.String("is_expandable").Bool(false).String("frames").BeginList().EndList();
    pickle_.String("blocks").BeginList();
    int64_t at = 0;
    for (const auto& [address, id] : left) {
      if (address > at) WriteBlock(at, address - at, nullptr);
      WriteBlock(address, program_.buffers[id].bytes, &program_.buffers[id]);
      at = address + program_.buffers[id].bytes;
    }
    if (at < segment_bytes_) WriteBlock(at, segment_bytes_ - at, nullptr);
    pickle_.EndList().EndDict();
  }

  void WriteBlock(int64_t address, int64_t bytes, const Buffer* buffer) {
    pickle_.BeginDict();
    pickle_.String("address").Int(kBase + address).String("size").Int(bytes);
    pickle_.String("requested_size").Int(buffer != nullptr ? bytes : 0);
    pickle_.String("state").String(buffer != nullptr ? "active_allocated" : "inactive");
    if (buffer != nullptr) {
      WriteFrames(*buffer);
    } else {
      pickle_.String("frames").BeginList().EndList();
    }
    pickle_.EndDict();
  }

  void WriteEvent(std::string_view action, BufferId id, size_t step) {
    const Buffer& buffer = program_.buffers[id];
    pickle_.BeginDict();
    pickle_.String("action").String(action).String("addr").Int(kBase + addresses_[id.index()]);
    pickle_.String("size").Int(buffer.bytes).String("stream").Int(0);
    pickle_.String("time_us").Int(static_cast<int64_t>(step));
    WriteFrames(buffer);
    pickle_.EndDict();
  }

  // As a replay has them: in each step what ends comes first.
  void WriteTrace() {
    std::vector<std::vector<BufferId>> begins(program_.steps.size()), ends(program_.steps.size());
    for (BufferId id(0); program_.buffers.contains(id); id = BufferId(id.value() + 1)) {
      const Buffer& buffer = program_.buffers[id];
      if (buffer.bytes == 0) continue;
      begins[buffer.begin.index()].push_back(id);
      if (!IsLeft(buffer)) ends[buffer.end.index()].push_back(id);
    }
    pickle_.BeginDict();
    pickle_.String("action").String("segment_alloc").String("addr").Int(kBase).String("size").Int(segment_bytes_);
    pickle_.String("stream").Int(0).String("time_us").Int(0).String("frames").BeginList().EndList().EndDict();
    for (size_t step = 0; step < begins.size(); ++step) {
      for (BufferId id : ends[step]) {
        WriteEvent("free_requested", id, step);
        WriteEvent("free_completed", id, step);
      }
      for (BufferId id : begins[step]) WriteEvent("alloc", id, step);
    }
  }

  const MemoryProgram& program_;
  const std::vector<int64_t> addresses_;
  int64_t segment_bytes_ = 0;
  PickleWriter pickle_;
};

}  // namespace

std::string RenderSnapshot(const Report& report, const Screen&) {
  const std::vector<ViewedRun> runs = ViewedRuns(report);
  return runs.empty() ? "" : SnapshotWriter(*runs.front().figures).Write();
}

}  // namespace onnx_mem
