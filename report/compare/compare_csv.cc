// A comparison as CSV, and as the line of -q.
#include "absl/strings/str_format.h"
#include "report/analyze/answer.h"
#include "report/analyze/run_table.h"
#include "report/compare/compare_forms.h"
#include "report/parts/csv_field.h"

namespace onnx_mem {

std::string CompareCsv(const ComparedReports& comparison, const Report& report) {
  const std::vector<std::string> names = SideNames(comparison);
  const bool by_layer = report.shown_table == "layers";
  std::string text = by_layer ? "head,module,presence,base_bytes,head_bytes,delta_bytes\n"
                              : "head,part,figure,base_bytes,head_bytes,delta_bytes\n";
  for (size_t h = 0; h < comparison.heads.size(); ++h) {
    const auto add = [&](std::string_view a, std::string_view b, int64_t base, int64_t head) {
      absl::StrAppendFormat(&text, "%s,%s,%s,%d,%d,%d\n", CsvText(names[h + 1]), CsvText(a), CsvText(b), base, head,
                            head - base);
    };
    if (by_layer) {
      for (const LayerChange& layer : comparison.changes[h].layers.value_or(std::vector<LayerChange>())) {
        add(layer.name, NameOf(layer.presence), layer.base_bytes, layer.head_bytes);
      }
      continue;
    }
    for (const ComparedFigure& figure : FiguresOf(comparison.base.run(), comparison.heads[h].run())) {
      add(figure.part, figure.key, figure.base, figure.head);
    }
  }
  return text;
}

std::string CompareQuiet(const ComparedReports& comparison) {
  const std::vector<std::string> names = SideNames(comparison);
  std::string text;
  for (size_t h = 0; h < comparison.changes.size(); ++h) {
    const RunSummary& delta = comparison.changes[h].delta;
    absl::StrAppendFormat(&text, "%s -> %s", names[0], names[h + 1]);
    if (delta.training) absl::StrAppendFormat(&text, " train=%+d", delta.training->device_bytes);
    if (delta.inference) absl::StrAppendFormat(&text, " infer=%+d", delta.inference->device_bytes);
    for (const Limit& limit : comparison.limits) {
      const Limit alone{limit.kind, limit.name, limit.bytes};
      const Verdict verdict = *VerdictOf({RunOfSide(comparison, limit, h + 1)}, {alone});
      const std::string on = comparison.limits.size() > 1 ? OneWord(NameOfLimit(limit)) + ":" : "";
      absl::StrAppendFormat(&text, " verdict=%s%s", on, NameOf(verdict));
    }
    text += '\n';
  }
  return text;
}

}  // namespace onnx_mem
