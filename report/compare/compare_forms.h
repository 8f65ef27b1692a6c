// A comparison in each form of a report. parts/formats.cc's renderers come here where a report has one.
#ifndef ONNX_MEM_REPORT_COMPARE_COMPARE_FORMS_H_
#define ONNX_MEM_REPORT_COMPARE_COMPARE_FORMS_H_

#include <string>

#include "report/analyze/report.h"
#include "report/compare/comparison.h"
#include "report/parts/json_writer.h"
#include "report/parts/screen.h"

namespace onnx_mem {

// `report` holds the comparison, and what the user wants to see of it (top, --by layer).
std::string CompareText(const ComparedReports& comparison, const Report& report, const Screen& screen);
std::string CompareMarkdown(const ComparedReports& comparison, const Report& report, const Screen& screen);

// A row per figure, or per layer with --by layer: head, part, figure, base_bytes, head_bytes, delta_bytes.
std::string CompareCsv(const ComparedReports& comparison, const Report& report);

// One line per head: "a.onnx b.onnx train=-123 infer=-45", bytes on the device.
std::string CompareQuiet(const ComparedReports& comparison);

// The members "base", "head", "delta", "layers", "kept_fp32" ... of the envelope.
void WriteComparison(JsonWriter& json, const ComparedReports& comparison);

std::string_view NameOf(Presence presence);  // "both", "new", "deleted"

std::string_view TagOf(Presence presence);  // before a name: "[NEW] ", "[DEL] ", ""

// The same in every form for people: "Training needs 3.42 GiB on the GPU, -2.56 GiB (-42.8 %)".
std::string ChangeInWords(const ComparedReports& comparison, size_t head, const Screen& screen);
// "Too much: training peak grew by 12.0 % (5.59 GiB to 6.26 GiB), 2 % are allowed"; "" without a gate.
std::vector<std::string> GateInWords(const ComparedReports& comparison, const Screen& screen);
// "The head fits Tesla T4 (14.7 GiB)", a line for each limit.
std::vector<std::string> HeldInWords(const ComparedReports& comparison, const Screen& screen);
// "Kept in fp32 by the exporter: 3 Resize, 1 Softmax (12.0 MiB)"; what an export in half precision is and is not.
std::vector<std::string> PrecisionInWords(const ComparedReports& comparison, const Screen& screen);
// The word for --amp: "fp16".
std::string_view AmpName(const ComparedReports& comparison);
// "+1.50 MiB", "-" for no change.
std::string SignedSize(int64_t delta_bytes, ByteUnit unit);
// "-42.8 %"; "new", "gone" where one side has nothing; "" for no change.
std::string SignedPercent(int64_t base, int64_t head);

}  // namespace onnx_mem

#endif  // ONNX_MEM_REPORT_COMPARE_COMPARE_FORMS_H_
