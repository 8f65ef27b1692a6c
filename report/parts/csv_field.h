// Fields of a CSV file (RFC 4180), harmless to the spreadsheet that opens it.
#ifndef ONNX_MEM_REPORT_PARTS_CSV_FIELD_H_
#define ONNX_MEM_REPORT_PARTS_CSV_FIELD_H_

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace onnx_mem {

// `field` in quotes where it has a comma, a quote or a line break. For numbers: a name is a CsvText.
inline std::string CsvField(std::string_view field) {
  if (field.find_first_of(",\"\n\r") == std::string_view::npos) return std::string(field);
  std::string text = "\"";
  for (char byte : field) {
    if (byte == '"') text += '"';
    text += byte;
  }
  return text + '"';
}

// Whether a spreadsheet takes a cell that begins so for a formula, which may start programs and send what the other
// cells hold: https://owasp.org/www-community/attacks/CSV_Injection. The last four are the full-width forms of the
// first.
inline bool BeginsFormula(std::string_view cell) {
  constexpr auto kBegins = std::to_array<std::string_view>(
      {"=", "+", "-", "@", "\t", "\r", "\n", "\xef\xbc\x9d", "\xef\xbc\x8b", "\xef\xbc\x8d", "\xef\xbc\xa0"});
  return std::any_of(kBegins.begin(), kBegins.end(), [&](std::string_view begin) { return cell.starts_with(begin); });
}

// A name or another text, which may be a stranger's: an apostrophe before what would begin a formula, as OWASP has it.
// A spreadsheet may cut at other separators than the comma, whatever quotes say, so what stands behind one counts as
// well; a "-" behind a comma is left alone, as in "[1,-1]".
inline std::string CsvText(std::string_view field) {
  constexpr std::string_view kSeparators = ",;\t\r\n";
  std::string safe;
  for (size_t i = 0; i < field.size(); ++i) {
    const bool behind = i > 0 && kSeparators.find(field[i - 1]) != std::string_view::npos;
    const bool sign_of_number = behind && field[i - 1] == ',' && field[i] == '-';
    if ((i == 0 || behind) && !sign_of_number && BeginsFormula(field.substr(i))) safe += '\'';
    safe += field[i];
  }
  return CsvField(safe);
}

}  // namespace onnx_mem

#endif  // ONNX_MEM_REPORT_PARTS_CSV_FIELD_H_
