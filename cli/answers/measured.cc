// Prediction against reality: what one step was predicted to take, beside a snapshot of PyTorch's allocator or the one
// number that torch.cuda.max_memory_allocated() reported.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "analyzer/analysis/analysis.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/memory/timeline.h"
#include "analyzer/snapshot/peak.h"
#include "analyzer/snapshot/snapshot.h"
#include "analyzer/study/study.h"
#include "cli/answers/answers.h"
#include "cli/answers/batch_dim.h"
#include "cli/answers/cards.h"
#include "cli/options/option_values.h"
#include "cli/present.h"
#include "report/analyze/report.h"
#include "report/compare/measured_row.h"

namespace onnx_mem {
namespace {

bool IsSnapshot(const std::string& path) { return absl::EndsWith(path, ".pickle") || absl::EndsWith(path, ".pkl"); }

struct Match {
  BytesByCategory predicted = {};
  BytesByCategory found = {};
  std::vector<PeakBlock> unexplained;
  std::vector<const Buffer*> missing;
};

// A block and a tensor are taken for each other where the allocator gives them the same size.
Match MatchBlocks(const RunFigures& figures, const SnapshotPeak& peak) {
  Match match;
  std::multimap<int64_t, const Buffer*> open;  // by size, in the program's order
  for (BufferId id : LiveAt(*figures.program, figures.timeline.peak_step)) {
    const Buffer& buffer = figures.program->buffers[id];
    if (buffer.bytes == 0) continue;
    open.emplace(InBlocks(buffer.bytes), &buffer);
    match.predicted[static_cast<size_t>(buffer.category)] += buffer.bytes;
  }
  match.predicted[static_cast<size_t>(Category::kWorkspace)] = figures.workspace_bytes;
  int64_t workspaces = figures.workspace_blocks;
  const int64_t workspace = workspaces == 0 ? 0 : figures.workspace_bytes / workspaces;
  for (const PeakBlock& block : peak.blocks) {
    const auto same = open.find(InBlocks(block.bytes));
    if (same != open.end()) {
      match.found[static_cast<size_t>(same->second->category)] += block.bytes;
      open.erase(same);
    } else if (workspaces > 0 && InBlocks(block.bytes) == InBlocks(workspace)) {
      match.found[static_cast<size_t>(Category::kWorkspace)] += block.bytes;
      --workspaces;
    } else {
      match.unexplained.push_back(block);
    }
  }
  for (const auto& [bytes, buffer] : open) {
    if (HasBlock(*buffer)) match.missing.push_back(buffer);
  }
  return match;
}

Cell RelativeError(int64_t predicted, int64_t measured) {
  if (measured == 0) return {};
  return static_cast<double>(predicted - measured) / static_cast<double>(measured);
}

Table FiguresTable(const RunFigures& figures, const std::optional<SnapshotPeak>& peak,
                   const std::optional<int64_t>& allocated_bytes) {
  Table table{"measured",
              "Prediction against reality",
              {{"figure", "figure"},
               {"predicted_bytes", "predicted", ColumnKind::kBytes},
               {"measured_bytes", "measured", ColumnKind::kBytes},
               {"difference_bytes", "difference", ColumnKind::kBytes, Show::kData},
               {"error", "error", ColumnKind::kShare},
               {"source", "measured by"}},
              {},
              1};
  table.has_total = false;
  const auto add = [&](std::string figure, int64_t predicted, int64_t measured, std::string source) {
    table.rows.push_back({std::move(figure), predicted, measured, predicted - measured,
                          RelativeError(predicted, measured), std::move(source)});
  };
  if (peak) add("tensors alive", figures.peak_bytes, peak->requested_bytes, "bytes requested at once");
  if (peak) {
    add("allocated", figures.allocated_peak_bytes, peak->allocated_bytes, "blocks of 512 bytes in use");
  }
  if (allocated_bytes) {
    add("allocated", figures.allocated_peak_bytes, *allocated_bytes, "torch.cuda.max_memory_allocated()");
  }
  if (peak) {
    add("reserved", figures.reserved_peak_bytes, peak->reserved_bytes, "segments of the allocator");
  }
  return table;
}

Table CategoriesTable(const Match& match) {
  Table table{"categories",
              "Which of the predicted tensors have a block of their size at the peak",
              {{"category", "category", ColumnKind::kWord},
               {"predicted_bytes", "predicted", ColumnKind::kBytes},
               {"found_bytes", "found", ColumnKind::kBytes}},
              {},
              1};
  for (size_t c = 0; c < kNumCategories; ++c) {
    if (match.predicted[c] == 0 && match.found[c] == 0) continue;
    table.rows.push_back({std::string(NameOf(static_cast<Category>(c))), match.predicted[c], match.found[c]});
  }
  return table;
}

// Blocks of one place and size are one row.
Table UnexplainedTable(const Match& match, const AllocatorSnapshot& snapshot) {
  Table table{
      "unexplained",
      "Blocks at the peak that nobody explains",
      {{"where", "allocated by"}, {"blocks", "blocks", ColumnKind::kCount}, {"bytes", "bytes", ColumnKind::kBytes}},
      {},
      2};
  std::map<std::pair<std::string, int64_t>, int64_t> counts;
  for (const PeakBlock& block : match.unexplained) ++counts[{WhereText(snapshot, block.stack), block.bytes}];
  for (const auto& [block, count] : counts) {
    table.rows.push_back({block.first.empty() ? "(no stack recorded)" : block.first, count, count * block.second});
  }
  return table;
}

Table MissingTable(const Match& match) {
  Table table{"missing",
              "Tensors predicted at the peak that have no block",
              {{"tensor", "tensor"}, {"category", "what", ColumnKind::kWord}, {"bytes", "bytes", ColumnKind::kBytes}},
              {},
              2};
  for (const Buffer* buffer : match.missing) {
    table.rows.push_back({buffer->name, std::string(NameOf(buffer->category)), buffer->bytes});
  }
  return table;
}

Diagnostic NoHistoryNote() {
  Diagnostic note{.code = Code::kNoHistory, .severity = Severity::kNote, .count = 1};
  note.message = "the snapshot has no history: its peak is the moment at which it was taken";
  note.details = {"try: torch.cuda.memory._record_memory_history()   # before the step"};
  return note;
}

// Errors: usage.
absl::Status CheckMeasured(const Options& options) {
  if (options.measured_row && !options.measured_bytes) {
    return UsageError("--report is of one number that was measured",
                      {"way out: onnx-mem compare MODEL --measured SIZE --report"});
  }
  const size_t operands = options.measured_bytes ? 1 : 2;
  if (options.operands.size() != operands || options.batches.size() > 1) {
    return UsageError("a measurement is of one model at one batch",
                      {"way out: onnx-mem compare MODEL snapshot.pickle -b N",
                       "way out: onnx-mem compare MODEL --measured SIZE -b N"});
  }
  if (options.gpus.size() > 1 || options.gpu_memory_bytes) {
    return UsageError("a measurement is of one card, whose size changes nothing",
                      {"why: --gpu NAME of one card says which workspaces are predicted"});
  }
  return absl::OkStatus();
}

Measurement MeasurementOf(const Options& options, const std::vector<Card>& cards) {
  Measurement measured{.bytes = options.measured_bytes.value_or(0)};
  if (!cards.empty()) {
    measured.card = cards.front().name;
    const absl::StatusOr<std::vector<LocalGpu>> here = ReadLocalGpus();
    measured.driver = DriverOf(cards.front(), here.ok() ? *here : std::vector<LocalGpu>());
  }
  for (const auto& [name, length] : options.workload.bindings.dims) measured.lengths.push_back(length);
  return measured;
}

}  // namespace

bool AsksForMeasured(const Options& options) {
  return options.measured_row || options.measured_bytes.has_value() ||
         (options.operands.size() == 2 && IsSnapshot(options.operands[1]));
}

absl::StatusOr<CommandAnswer> AnswerMeasured(const Options& options, const OpenModels& open) {
  RETURN_IF_ERROR(CheckMeasured(options));
  std::optional<AllocatorSnapshot> snapshot;
  if (!options.measured_bytes) {
    ASSIGN_OR_RETURN(snapshot, ReadSnapshot(options.operands[1]));
  }
  ASSIGN_OR_RETURN(const std::shared_ptr<const ModelFile> file, ModelOf(options, open, 0));
  ASSIGN_OR_RETURN(const std::vector<Card> cards, CardsOf(options));
  const Workload workload = FirstWorkload(options, cards);
  Study study(file);
  ASSIGN_OR_RETURN(const Analysis analysis,
                   options.measured_row ? study.AskWithRange(workload) : study.Expected(workload));
  const RunFigures& figures = *MainFigures(analysis);
  CommandAnswer answer;
  if (options.measured_row) answer.text = MeasuredRow(MeasurementOf(options, cards), analysis);
  Report& report = answer.report;
  report.command = options.command;
  report.model = SummarizeModel(analysis);
  report.assumptions = analysis.assumptions;
  report.top = options.top.value_or(kDefaultTop);
  report.top_given = options.top.has_value();
  report.shown_table = "measured";
  const std::optional<SnapshotPeak> peak = snapshot ? std::optional(PeakOf(*snapshot)) : std::nullopt;
  report.tables.push_back(FiguresTable(figures, peak, options.measured_bytes));
  if (snapshot) {
    const Match match = MatchBlocks(figures, *peak);
    report.tables.push_back(CategoriesTable(match));
    report.tables.push_back(UnexplainedTable(match, *snapshot));
    report.tables.push_back(MissingTable(match));
    if (snapshot->events.empty()) report.notes.push_back(NoHistoryNote());
  }
  RETURN_IF_ERROR(WriteExports(report, options));
  return answer;
}

}  // namespace onnx_mem
