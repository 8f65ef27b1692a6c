// Byte counts as text, both ways: what a user types ("24GiB") and what a report shows ("5.98 GiB").
//
//   ParseBytes("1.5GiB") = 1610612736      FormatBytes(1610612736) = "1.50 GiB"
//
// Units follow coreutils: KiB, MiB, GiB, TiB are powers of 1024, KB, MB, GB, TB powers of 1000, and a bare K, M, G, T
// is the power of 1024. Output is always in C-locale digits.
#ifndef ONNX_MEM_ANALYZER_GRAPH_BYTES_H_
#define ONNX_MEM_ANALYZER_GRAPH_BYTES_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace onnx_mem {

// "24GiB", "8 GB", "1.5g", "4096" (bytes). Unit letters in either case; fractions are rounded to whole bytes.
// Error (usage): no number, a negative one, an unknown unit, or more than 63 bits.
absl::StatusOr<int64_t> ParseBytes(std::string_view text);

enum class ByteUnit : uint8_t { kAuto, kB, kKiB, kMiB, kGiB, kTiB, kKB, kMB, kGB, kTB };

// "auto", "B", "MiB", "GB" ... in either case. Error (usage) lists the known units.
absl::StatusOr<ByteUnit> ParseByteUnit(std::string_view text);

// Three significant digits in the largest binary unit that leaves at least 1: "512 B", "97.5 MiB", "5.98 GiB".
std::string FormatBytes(int64_t bytes);

// The same in one unit, for a column whose rows are to be compared: "6,124 MiB", "0.0313 GiB", "1,048,576 B".
// Bytes are always exact. kAuto is FormatBytes.
std::string FormatBytesIn(int64_t bytes, ByteUnit unit);

// With a sign also where positive, for differences: "+2.56 GiB", "-512 B", "0 B".
std::string FormatSignedBytes(int64_t bytes, ByteUnit unit = ByteUnit::kAuto);

// "25,557,032".
std::string WithThousands(int64_t number);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_GRAPH_BYTES_H_
