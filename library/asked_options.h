// What the library is asked -> the options of the command that answers the same, by the rows of the option table:
// names, checks and error texts are the command line's.
#ifndef ONNX_MEM_LIBRARY_ASKED_OPTIONS_H_
#define ONNX_MEM_LIBRARY_ASKED_OPTIONS_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/options/option_table.h"
#include "cli/options/options.h"
#include "include/onnx_mem/onnx_mem.h"

namespace onnx_mem::api {

// "--batch", "64". A flag has an empty value.
using OptionWords = std::vector<std::pair<std::string_view, std::string>>;

// What differs from its default. Segments and a budget's line of `workload` are not among them.
OptionWords WordsOf(const Workload& workload);
OptionWords WordsOf(const Listing& listing);
OptionWords WordsOf(const PlanOptions& plan);

// Options of `command`, whose bit is `bit`, about `operands`. Errors: usage, as the command line has them.
absl::StatusOr<onnx_mem::Options> OptionsOf(std::string_view command, CommandSet bit, std::vector<std::string> operands,
                                            const Workload& workload, const OptionWords& words);

}  // namespace onnx_mem::api

#endif  // ONNX_MEM_LIBRARY_ASKED_OPTIONS_H_
