// onnx-mem gpus: the cards that --gpu knows.
#include "analyzer/devices/gpus.h"

#include <string>
#include <utility>

#include "analyzer/graph/status_macros.h"
#include "cli/commands.h"
#include "cli/report/present.h"
#include "cli/report/report.h"

namespace onnx_mem {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

Cell NumberCell(const std::optional<double>& number) { return number ? Cell(*number) : Cell(); }

Table GpuTable() {
  Table table{"gpus",
              "GPUs",
              {{"name", "name"},
               {"vendor", "vendor"},
               {"architecture", "architecture"},
               {"compute_capability", "compute capability", ColumnKind::kText, Show::kData},
               {"memory_bytes", "nvidia-smi", ColumnKind::kBytes},
               {"usable_bytes", "usable", ColumnKind::kBytes},
               {"bandwidth_gbps", "GB/s", ColumnKind::kDecimal},
               {"fp32_tflops", "fp32 T", ColumnKind::kDecimal},
               {"tf32_tflops", "tf32 T", ColumnKind::kDecimal, Show::kData},
               {"fp16_tflops", "fp16 T", ColumnKind::kDecimal},
               {"bf16_tflops", "bf16 T", ColumnKind::kDecimal}},
              {},
              4};
  table.has_total = false;
  for (const Gpu& gpu : Gpus()) {
    table.rows.push_back({gpu.name, gpu.vendor, gpu.architecture, gpu.compute_capability, gpu.memory_mib * kMiB,
                          UsableBytes(gpu), NumberCell(gpu.bandwidth_gbps), NumberCell(gpu.fp32_tflops),
                          NumberCell(gpu.tf32_tflops), NumberCell(gpu.fp16_tflops), NumberCell(gpu.bf16_tflops)});
  }
  return table;
}

}  // namespace

absl::StatusOr<Answer> RunGpus(const Options& options) {
  Report report;
  report.command = options.command;
  report.tables.push_back(GpuTable());
  report.shown_table = "gpus";
  RETURN_IF_ERROR(WriteExports(report, options));
  return Answer{Present(report, options), {}, ExitCode::kYes};
}

}  // namespace onnx_mem
