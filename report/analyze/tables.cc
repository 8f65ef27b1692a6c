#include "report/analyze/tables.h"

#include <array>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_format.h"
#include "analyzer/graph/graph.h"
#include "analyzer/memory/timeline.h"
#include "analyzer/order/stable_sort.h"
#include "report/analyze/report.h"
#include "report/parts/grouped.h"

namespace onnx_mem {
namespace {

// "freed in backward step 231 (convolution_backward)", the last step that it is alive in, counted from 1 over the whole
// run; or "alive to the end of the step".
std::string UntilText(const MemoryProgram& program, StepId end) {
  if (!program.steps.contains(end)) return "alive to the end of the step";
  const Step& step = program.steps[StepId(end.value() - 1)];
  return absl::StrFormat("freed in %s step %d (%s)", NameOf(step.phase), end.value(), step.op.str());
}

// The node that made a buffer, or the operator where the file has no node for it.
std::string MakerOf(const MemoryProgram& program, const Buffer& buffer) {
  if (!MadeByAStep(buffer) || !program.steps.contains(buffer.begin)) return "";
  const Step& step = program.steps[buffer.begin];
  return step.node.empty() ? absl::StrFormat("%s %s", NameOf(step.phase), step.op.str()) : step.node.str();
}

// A row of LiveTable.
Row LiveRow(const MemoryProgram& program, const Modules& modules, const Buffer& buffer) {
  const std::string maker = MakerOf(program, buffer);
  const bool typed = buffer.dtype != DType::kUnknown;
  Row row;
  row.emplace_back(buffer.name.empty() ? absl::StrFormat("(%s)", maker) : buffer.name.str());
  row.emplace_back(std::string(NameOf(buffer.category)));
  row.emplace_back(buffer.bytes);
  row.push_back(typed ? Cell(std::string(NameOf(buffer.dtype))) : Cell());
  row.push_back(typed ? Cell(Shape(buffer.dims)) : Cell());
  row.emplace_back(modules.Of(buffer));
  row.emplace_back(maker);
  row.emplace_back(buffer.kept_by.str());
  row.emplace_back(int64_t{buffer.begin.value()});
  row.emplace_back(int64_t{buffer.end.value()});
  row.emplace_back(UntilText(program, buffer.end));
  row.emplace_back(MadeByAStep(buffer) ? program.steps[buffer.begin].op.str() : std::string());
  const std::string& file_name = modules.FileNameOf(buffer);
  row.push_back(file_name.empty() ? Cell() : Cell(file_name));
  return row;
}

// The module of each tensor of a file: of a parameter or buffer its own, of a result that of the first step that ran
// the node which makes it.
class FileModules {
 public:
  FileModules(const Modules& modules, const MemoryProgram* program) {
    if (program == nullptr) return;
    for (const Buffer& buffer : program->buffers) {
      if (!MadeByAStep(buffer)) of_stored_.emplace(buffer.name.str(), modules.Of(buffer));
    }
    for (const Step& step : program->steps) {
      if (!step.node.empty()) of_node_.emplace(step.node.str(), step.module.str());
    }
  }

  // "" for none, and for the root module. `maker` is null where no node makes the tensor.
  std::string Of(const Tensor& tensor, const Node* maker) const {
    const auto& modules = maker == nullptr ? of_stored_ : of_node_;
    const auto found = modules.find(maker == nullptr ? std::string(ShownName(tensor)) : maker->name);
    return found == modules.end() ? "" : found->second;
  }

 private:
  absl::flat_hash_map<std::string, std::string> of_stored_, of_node_;
};

}  // namespace

Table TensorTable(const Graph& graph, const Modules& modules, const MemoryProgram* program) {
  const FileModules module_of(modules, program);
  Table table{"tensors",
              "Tensors of the file",
              {{"name", "tensor"},
               {"dtype", "type"},
               {"shape", "shape", ColumnKind::kShape},
               {"role", "role"},
               {"bytes", "bytes", ColumnKind::kBytes},
               {"producer", "made by", ColumnKind::kText, Show::kDetail},
               {"module", "module", ColumnKind::kText, Show::kDetail},
               {"file_name", "in the file", ColumnKind::kText, Show::kDetail}},
              {},
              4};
  table.rows.reserve(graph.tensors.size());
  for (const Tensor& tensor : graph.tensors) {
    const Node* maker = tensor.producer.valid() ? &graph.nodes[tensor.producer] : nullptr;
    Row& row = table.rows.emplace_back();
    row.reserve(table.columns.size());
    row.emplace_back(ShownName(tensor));
    row.emplace_back(std::string(NameOf(tensor.dtype)));
    row.emplace_back(tensor.shape);
    row.emplace_back(std::string(NameOf(tensor.role)));
    row.push_back(CellOf(NumBytes(tensor.shape, tensor.dtype)));
    row.push_back(!maker ? Cell() : Cell(maker->name.empty() ? Describe(graph, tensor.producer) : maker->name));
    row.push_back(maker || !tensor.consumers.empty() ? Cell(module_of.Of(tensor, maker)) : Cell());
    row.push_back(tensor.path.empty() ? Cell() : Cell(tensor.name));
  }
  return table;
}

Table LiveTable(const RunFigures& figures, const Modules& modules, int64_t most) {
  const MemoryProgram& program = *figures.program;
  Table table{"live_at_peak",
              "Tensors alive at the peak",
              {{"name", "tensor"},
               {"category", "what", ColumnKind::kWord},
               {"bytes", "bytes", ColumnKind::kBytes},
               {"dtype", "type"},
               {"shape", "shape", ColumnKind::kShape},
               {"module", "module", ColumnKind::kText, Show::kDetail},
               {"made_by", "made by", ColumnKind::kText, Show::kDetail},
               {"kept_by", "", ColumnKind::kText, Show::kDetail},
               {"begin", "from step", ColumnKind::kIndex, Show::kData},
               {"end", "until step", ColumnKind::kIndex, Show::kData},
               {"until", "", ColumnKind::kText, Show::kDetail},
               {"op", "operator", ColumnKind::kText, Show::kData},
               {"file_name", "in the file", ColumnKind::kText, Show::kDetail}},
              {},
              2};
  for (BufferId id : LiveAt(program, figures.timeline.peak_step)) {
    const Buffer& buffer = program.buffers[id];
    if (most > 0 && static_cast<int64_t>(table.rows.size()) == most) {
      ++table.omitted_rows;
      table.omitted_bytes += buffer.bytes;
      continue;
    }
    table.rows.push_back(LiveRow(program, modules, buffer));
  }
  return table;
}

Table StepTable(const RunFigures& figures) {
  const MemoryProgram& program = *figures.program;
  const std::vector<BytesByCategory> bytes = BytesPerStep(program);
  Table table{"timeline",
              "Steps",
              {{"step", "step", ColumnKind::kIndex},
               {"live_bytes", "alive", ColumnKind::kBytes},
               {"phase", "phase", ColumnKind::kWord},
               {"op", "operator"},
               {"module", "module"},
               {"node", "node", ColumnKind::kText, Show::kDetail}},
              {},
              1};
  table.has_total = false;
  for (size_t c = 0; c < kNumCategories; ++c) {
    table.columns.push_back(
        {absl::StrFormat("%s_bytes", NameOf(static_cast<Category>(c))), "", ColumnKind::kBytes, Show::kData});
  }
  for (StepId id(0); program.steps.contains(id); id = StepId(id.value() + 1)) {
    const Step& step = program.steps[id];
    const BytesByCategory& at = bytes[id.index()];
    Row& row = table.rows.emplace_back(Row{int64_t{id.value()}, std::accumulate(at.begin(), at.end(), int64_t{0}),
                                           std::string(NameOf(step.phase)), step.op.str(), step.module.str(),
                                           step.node.str()});
    row.insert(row.end(), at.begin(), at.end());
  }
  return table;
}

Table OpTable(const Analysis& analysis) {
  struct Op {
    int64_t calls = 0, flops = 0, peak_bytes = 0;
  };
  Grouped<Op> ops;
  if (const RunFigures* figures = MainFigures(analysis)) {
    const MemoryProgram& program = *figures->program;
    for (const Step& step : program.steps) {
      Op& op = ops[step.op];
      ++op.calls;
      op.flops += step.flops;
    }
    for (const Buffer& buffer : program.buffers) {
      if (!AliveAt(buffer, figures->timeline.peak_step)) continue;
      const bool made = MadeByAStep(buffer) && program.steps.contains(buffer.begin);
      ops[made ? program.steps[buffer.begin].op.str() : absl::StrFormat("(%s)", NameOf(buffer.category))].peak_bytes +=
          buffer.bytes;
    }
  }
  Table table{"ops",
              "Framework operators",
              {{"op", "operator"},
               {"calls", "calls", ColumnKind::kCount},
               {"flops", "FLOPs", ColumnKind::kWork},
               {"peak_bytes", "at the peak", ColumnKind::kBytes}},
              {},
              3};
  for (const auto& [name, op] : ops.groups()) table.rows.push_back({name, op.calls, op.flops, op.peak_bytes});
  return table;
}

Table ShapeTable(const RunFigures& figures) {
  struct Group {
    const Buffer* first;
    int64_t count, bytes;
  };
  std::vector<Group> groups;
  absl::flat_hash_map<std::string, size_t> index;
  for (BufferId id : LiveAt(*figures.program, figures.timeline.peak_step)) {
    const Buffer& buffer = figures.program->buffers[id];
    const std::string key = absl::StrFormat("%d %d %d %s", static_cast<int>(buffer.category),
                                            static_cast<int>(buffer.dtype), buffer.bytes, ToString(Shape(buffer.dims)));
    const auto [at, added] = index.try_emplace(key, groups.size());
    if (added) groups.push_back({&buffer, 0, 0});
    ++groups[at->second].count;
    groups[at->second].bytes += buffer.bytes;
  }
  StableSort(groups, [](const Group& a, const Group& b) { return a.bytes > b.bytes; });
  Table table{"shapes",
              "Shapes at the peak",
              {{"count", "count", ColumnKind::kCount},
               {"shape", "shape", ColumnKind::kShape},
               {"dtype", "type"},
               {"bytes", "bytes", ColumnKind::kBytes},
               {"category", "what", ColumnKind::kWord}},
              {},
              3};
  for (const Group& group : groups) {
    table.rows.push_back({group.count, Shape(group.first->dims), std::string(NameOf(group.first->dtype)), group.bytes,
                          std::string(NameOf(group.first->category))});
  }
  return table;
}

Table CategoryTable(const Analysis& analysis) {
  Table table{"categories",
              "What is alive at the peak",
              {{"category", "what", ColumnKind::kWord},
               {"training_bytes", "training", ColumnKind::kBytes},
               {"inference_bytes", "inference", ColumnKind::kBytes}},
              {},
              1};
  for (size_t c = 0; c < kNumCategories; ++c) {
    const auto category = static_cast<Category>(c);
    Row row = {std::string(NameOf(category)), {}, {}};
    const int64_t in_training = analysis.training() ? analysis.training()->timeline.at_peak[c] : 0;
    if (IsOfLayout(category) && in_training == 0) continue;
    if (analysis.training()) row[1] = in_training;
    if (analysis.inference()) row[2] = analysis.inference()->timeline.at_peak[c];
    table.rows.push_back(std::move(row));
  }
  if (!analysis.training()) table.rank_column = 2;
  return table;
}

}  // namespace onnx_mem
