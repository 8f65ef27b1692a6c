// Report -> one HTML file that needs no network: the answer, pictures, tables, assumptions. web/ has the page's source;
// here is what the program fills in.
//
// Names come from files of strangers: all text passes CleanText and, where it becomes HTML, HtmlText. The page's
// content security policy lets nothing run but its own script.
#ifndef ONNX_MEM_REPORT_PAGE_PAGE_H_
#define ONNX_MEM_REPORT_PAGE_PAGE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/memory/program.h"
#include "report/analyze/report.h"
#include "report/parts/screen.h"

namespace onnx_mem {

inline constexpr size_t kLongestName = 400;
inline constexpr size_t kLongestFlags = 16'384;  // of a change: they are there to be copied, so whole

// What is not UTF-8, control characters and marks that turn the direction of text become U+FFFD; texts of more than
// `longest` bytes lose their middle.
std::string CleanText(std::string_view text, size_t longest = kLongestName);

// CleanText, with what HTML reads as markup written as entities.
std::string HtmlText(std::string_view text, size_t longest = kLongestName);

// `template_text` with each {{name}} replaced by what `fill` gives for the name.
struct Filling {
  std::string_view name;
  std::string text;
};
std::string Filled(std::string_view template_text, const std::vector<Filling>& fillings);

// The course of memory as SVG, stacked by category, with its phases and its peak; colours by class ("c5").
// `limit_bytes`: a line of what may be alive; 0: none.
std::string TimelinePicture(const MemoryProgram& program, int64_t limit_bytes);

// The answer; the parts that it adds up from, or the screen of several runs; tables and notes: as HTML.
std::string HeadlineHtml(const Report& report, const Screen& screen);
std::string AnswerHtml(const Report& report, const Screen& screen);
std::string TablesHtml(const Report& report, const Screen& screen);
std::string NotesHtml(const Report& report, const Screen& screen);

// Several models or batches, a comparison, cards are shown as the screen shows them.
bool IsOneRun(const Report& report);

// With `stacks` each row becomes a block on a narrow screen, its cells one below the other with their titles.
std::string TableHtml(const Table& table, const Screen& screen, bool stacks = false);
// What would save most, cheapest first.
Table CheapestWaysTable(const Table& savings);

// What the page's script draws, as JSON in which no "<" stands. "{}" for a report without pictures.
std::string PageData(const Report& report);

// What of `limit` may be alive in `part`: without the CUDA context and what the allocator takes beside tensors.
int64_t LiveLimit(const Limit& limit, const PeakFigures& part);

}  // namespace onnx_mem

#endif  // ONNX_MEM_REPORT_PAGE_PAGE_H_
