// The steps and buffers of the runs as columns of numbers, for web/data.mjs: a column is base64 of LEB128 numbers, each
// first folded so that small negative ones stay small (0, -1, 1, -2: 0, 1, 2, 3). Text stands once, in one sorted list
// in which each string says how many characters it shares with the one before.
//
//   strings [0, "layer1.conv", 6, ".relu"]  =  "layer1.conv", "layer1.relu"
//
// A page is at most some 5 MB: where there are too many buffers, the largest stand one by one, and of the others
// only the sums by category and step, so that every picture's heights stay exact.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_format.h"
#include "analyzer/order/stable_sort.h"
#include "report/page/packed.h"
#include "report/page/page.h"
#include "report/page/page_runs.h"
#include "report/parts/figures.h"
#include "report/parts/json_writer.h"
#include "report/parts/modules.h"

namespace onnx_mem {
namespace {

using Layout = JsonWriter::Layout;

constexpr size_t kMostDataBytes = 4'400'000;
constexpr size_t kFewestBuffers = 500;

std::string KindText(const Buffer& buffer) {
  if (buffer.dtype == DType::kUnknown) return "";
  return absl::StrFormat("%s %s", NameOf(buffer.dtype), ToString(Shape(buffer.dims)));
}

// The `most` largest, by bytes and life, in the program's order.
std::vector<BufferId> LargestBuffers(const MemoryProgram& program, size_t most) {
  std::vector<BufferId> ids;
  for (BufferId id(0); program.buffers.contains(id); id = BufferId(id.value() + 1)) ids.push_back(id);
  if (ids.size() <= most) return ids;
  StableSort(ids, [&](BufferId a, BufferId b) { return program.buffers[a].bytes > program.buffers[b].bytes; });
  ids.resize(most);
  std::sort(ids.begin(), ids.end());
  return ids;
}

void WriteSteps(JsonWriter& json, const MemoryProgram& program, const StringList& strings) {
  PackedColumn ops, nodes, modules, phases;
  for (const Step& step : program.steps) {
    ops.Add(strings.PlaceOf(step.op));
    nodes.Add(strings.PlaceOf(step.node));
    modules.Add(strings.PlaceOf(step.module));
    phases.Add(2 * static_cast<int64_t>(step.phase) + (step.recompute ? 1 : 0));
  }
  json.Key("steps").BeginObject(Layout::kOneLine);
  json.Key("count").Int(static_cast<int64_t>(program.steps.size()));
  json.Key("op").String(ops.Text()).Key("node").String(nodes.Text());
  json.Key("module").String(modules.Text()).Key("phase").String(phases.Text());
  json.EndObject();
}

// What is not among `shown`: by category, the change of its bytes at each step.
void WriteOthers(JsonWriter& json, const MemoryProgram& program, const std::vector<BufferId>& shown) {
  std::vector<bool> is_shown(program.buffers.size(), false);
  for (BufferId id : shown) is_shown[id.index()] = true;
  std::map<Category, std::vector<int64_t>> changes;
  int64_t count = 0;
  for (size_t i = 0; i < is_shown.size(); ++i) {
    if (is_shown[i]) continue;
    const Buffer& buffer = program.buffers[BufferId(static_cast<int32_t>(i))];
    std::vector<int64_t>& change = changes[buffer.category];
    change.resize(program.steps.size() + 1);
    change[buffer.begin.index()] += buffer.bytes;
    change[buffer.end.index()] -= buffer.bytes;
    ++count;
  }
  json.Key("others").BeginObject(Layout::kOneLine);
  json.Key("count").Int(count);
  json.Key("changes").BeginObject();
  for (const auto& [category, change] : changes) {
    PackedColumn column;
    for (size_t step = 0; step + 1 < change.size(); ++step) column.Add(change[step]);
    json.Key(absl::StrFormat("%d", static_cast<int>(category))).String(column.Text());
  }
  json.EndObject().EndObject();
}

void WriteBuffers(JsonWriter& json, const PageRun& run, const Modules& modules, const StringList& strings,
                  size_t most) {
  const MemoryProgram& program = *run.figures->program;
  const std::vector<BufferId> shown = LargestBuffers(program, most);
  const std::vector<int64_t>& addresses = run.figures->addresses;
  std::map<std::pair<int64_t, std::string>, int64_t> kinds;
  for (BufferId id : shown) kinds.try_emplace({program.buffers[id].bytes, KindText(program.buffers[id])}, 0);
  PackedColumn kind_bytes, kind_texts;
  int64_t next = 0;
  for (auto& [kind, place] : kinds) {
    place = next++;
    kind_bytes.Add(kind.first);
    kind_texts.Add(strings.PlaceOf(kind.second));
  }
  PackedColumn names, reasons, module_names, categories, kind_of, begins, lengths, address_column;
  int64_t last_begin = 0;
  for (BufferId id : shown) {
    const Buffer& buffer = program.buffers[id];
    names.Add(strings.PlaceOf(buffer.name));
    reasons.Add(strings.PlaceOf(buffer.kept_by));
    module_names.Add(strings.PlaceOf(modules.LayerOf(program, buffer)));
    categories.Add(2 * static_cast<int64_t>(buffer.category) + (MadeByAStep(buffer) ? 1 : 0));
    kind_of.Add(kinds.at({buffer.bytes, KindText(buffer)}));
    begins.Add(buffer.begin.value() - last_begin);
    last_begin = buffer.begin.value();
    lengths.Add(buffer.end.value() - buffer.begin.value());
    if (!addresses.empty()) {
      const int64_t address = addresses[id.index()];
      address_column.Add(address < 0 ? -1 : address / 256);  // what both allocators round to
    }
  }
  json.Key("buffers").BeginObject(Layout::kOneLine);
  json.Add({{"count", shown.size()}, {"kind_bytes", kind_bytes.Text()}, {"kind_text", kind_texts.Text()}});
  json.Add({{"name", names.Text()}, {"kept_by", reasons.Text()}, {"module", module_names.Text()}});
  json.Add({{"category", categories.Text()}, {"kind", kind_of.Text()}});
  json.Add({{"begin", begins.Text()}, {"length", lengths.Text()}});
  json.Add({{"address", addresses.empty() ? std::nullopt : std::optional(address_column.Text())}});
  json.EndObject();
  WriteOthers(json, program, shown);
}

void CollectStrings(const PageRun& run, const Modules& modules, size_t most, StringList& strings) {
  const MemoryProgram& program = *run.figures->program;
  for (const Step& step : program.steps) {
    for (std::string_view text :
         {std::string_view(step.op), std::string_view(step.node), std::string_view(step.module)}) {
      strings.Collect(text);
    }
  }
  for (BufferId id : LargestBuffers(program, most)) {
    const Buffer& buffer = program.buffers[id];
    strings.Collect(buffer.name);
    strings.Collect(buffer.kept_by);
    strings.Collect(modules.LayerOf(program, buffer));
    strings.Collect(KindText(buffer));
  }
}

std::string DataWith(const Report& report, const std::vector<PageRun>& runs, size_t most_buffers) {
  std::vector<Modules> modules;
  StringList strings;
  for (const PageRun& run : runs) {
    modules.emplace_back(run.analysis->parameters);
    CollectStrings(run, modules.back(), most_buffers, strings);
  }
  strings.Number();
  JsonWriter json;
  json.BeginObject();
  json.Key("categories").BeginArray(Layout::kOneLine);
  for (size_t c = 0; c < kNumCategories; ++c) json.String(Words(NameOf(static_cast<Category>(c))));
  json.EndArray();
  json.Key("strings");
  strings.Write(json);
  json.Key("runs").BeginArray();
  for (size_t i = 0; i < runs.size(); ++i) {
    const PageRun& run = runs[i];
    json.BeginObject();
    json.Key("name").String(run.name);
    for (const PeakRow& row : kPeakRows) {
      if (row.is_peak()) json.Key(row.key).Int(run.figures->*row.value);
    }
    json.Add({{"peak_step", run.figures->timeline.peak_step.value()}, {"limit_bytes", run.limit_bytes}});
    if (json.KeyOf("base", run.base >= 0)) json.Int(run.base);
    WriteSteps(json, *run.figures->program, strings);
    WriteBuffers(json, run, modules[i], strings, most_buffers);
    json.EndObject();
  }
  json.EndArray();
  if (const auto* planned = std::get_if<PlanPart>(&report.part)) WritePagePlans(json, *planned, runs);
  json.EndObject();
  // A "<" could end the script element that holds this, or open a comment in it.
  std::string text;
  for (char byte : json.Take()) byte == '<' ? text += "\\u003c" : text += byte;
  return text;
}

}  // namespace

std::string PageData(const Report& report) {
  const std::vector<PageRun> runs = PageRunsOf(report);
  if (runs.empty()) return "{}";
  size_t most = 0;
  for (const PageRun& run : runs) most = std::max(most, run.figures->program->buffers.size());
  std::string data = DataWith(report, runs, most);
  while (data.size() > kMostDataBytes && most > kFewestBuffers) {
    const double share = 0.9 * static_cast<double>(kMostDataBytes) / static_cast<double>(data.size());
    most = static_cast<size_t>(share * static_cast<double>(most));
    data = DataWith(report, runs, most);
  }
  return data;
}

}  // namespace onnx_mem
