// onnx-mem gpus: the cards that --gpu knows. onnx-mem gpus 4090: those of this name. onnx-mem gpus local: those in this
// machine.
#include "analyzer/devices/gpus.h"

#include <string>
#include <utility>

#include "absl/strings/str_join.h"
#include "analyzer/devices/local_gpus.h"
#include "analyzer/graph/status_macros.h"
#include "cli/answers/local_card.h"
#include "cli/commands/commands.h"
#include "cli/options/option_values.h"
#include "cli/present.h"
#include "report/analyze/report.h"

namespace onnx_mem {
namespace {

Cell NumberCell(const std::optional<double>& number) { return number ? Cell(*number) : Cell(); }

// Where its memory is known from, in words.
std::string MemoryText(const Gpu& gpu) {
  std::string text = gpu.memory_kind == "smi"       ? "as nvidia-smi shows it"
                     : gpu.memory_kind == "torch"   ? "as torch reads it"
                     : gpu.memory_kind == "nominal" ? "as sold, not read on a card"
                                                    : gpu.memory_kind;
  if (!gpu.usable_mib) text += text.empty() ? "usable by the usual gap" : ", usable by the usual gap";
  return text;
}

Table GpuTable(const std::vector<Gpu>& gpus) {
  Table table{"gpus",
              "GPUs",
              {{"name", "name"},
               {"vendor", "vendor"},
               {"architecture", "architecture"},
               {"compute_capability", "compute capability", ColumnKind::kText, Show::kData},
               {"sold_gb", "sold GB", ColumnKind::kStep},
               {"memory_bytes", "nvidia-smi", ColumnKind::kBytes},
               {"usable_bytes", "usable", ColumnKind::kBytes},
               {"bandwidth_gbps", "GB/s", ColumnKind::kDecimal},
               {"fp32_tflops", "fp32 T", ColumnKind::kDecimal},
               {"tf32_tflops", "tf32 T", ColumnKind::kDecimal, Show::kData},
               {"fp16_tflops", "fp16 T", ColumnKind::kDecimal},
               {"bf16_tflops", "bf16 T", ColumnKind::kDecimal},
               {"memory_kind", "memory", ColumnKind::kText, Show::kDetail},
               {"source", "source", ColumnKind::kText, Show::kDetail}},
              {},
              5};
  table.has_total = false;
  for (const Gpu& gpu : gpus) {
    table.rows.push_back({gpu.name, gpu.vendor, gpu.architecture, gpu.compute_capability,
                          gpu.sold_gb ? Cell(*gpu.sold_gb) : Cell(), gpu.memory_bytes(), UsableBytes(gpu),
                          NumberCell(gpu.bandwidth_gbps), NumberCell(gpu.fp32_tflops), NumberCell(gpu.tf32_tflops),
                          NumberCell(gpu.fp16_tflops), NumberCell(gpu.bf16_tflops), MemoryText(gpu), gpu.source});
  }
  return table;
}

Table LocalGpuTable(const std::vector<LocalGpu>& gpus) {
  Table table{"gpus",
              "GPUs of this machine",
              {{"index", "index", ColumnKind::kStep},
               {"name", "name"},
               {"total_bytes", "total", ColumnKind::kBytes},
               {"used_bytes", "used", ColumnKind::kBytes},
               {"free_bytes", "free", ColumnKind::kBytes},
               {"processes", "largest processes"}},
              {},
              4};
  table.has_total = false;
  for (const LocalGpu& gpu : gpus) {
    table.rows.push_back(
        {gpu.index, gpu.name, gpu.total_bytes, gpu.used_bytes, gpu.free_bytes, LargestProcesses(gpu, ByteUnit::kAuto)});
  }
  return table;
}

absl::StatusOr<Table> TableFor(const std::vector<std::string>& operands) {
  RETURN_IF_ERROR(CheckUsersGpus());
  if (operands.empty()) return GpuTable(Gpus());
  if (!IsLocal(operands.front())) {
    ASSIGN_OR_RETURN(const std::vector<Gpu> found, GpusWith(absl::StrJoin(operands, " ")));
    return GpuTable(found);
  }
  ASSIGN_OR_RETURN(const std::vector<LocalGpu> gpus, ReadLocalGpus());
  return LocalGpuTable(gpus);
}

}  // namespace

absl::StatusOr<CommandAnswer> RunGpus(const Options& options) {
  ASSIGN_OR_RETURN(Table table, TableFor(options.operands));
  Report report;
  report.command = options.command;
  report.tables.push_back(std::move(table));
  report.shown_table = "gpus";
  report.verbose = options.verbose;
  RETURN_IF_ERROR(WriteExports(report, options));
  return CommandAnswer{Present(report, options)};
}

}  // namespace onnx_mem
