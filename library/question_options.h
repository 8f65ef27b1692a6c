// A question of the library -> the options of the command that answers the same, member by member as the rows of
// include/onnx_mem/question.inc say: names, checks and error texts are the command line's.
#ifndef ONNX_MEM_LIBRARY_QUESTION_OPTIONS_H_
#define ONNX_MEM_LIBRARY_QUESTION_OPTIONS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/options/option_table.h"
#include "cli/options/options.h"
#include "include/onnx_mem/onnx_mem.h"

namespace onnx_mem::api {

// What a call is given; members at their defaults say nothing.
struct WholeQuestion {
  const Question& question;
  const Listing& listing;
  PlanOptions plan = {};
  std::optional<double> max_increase = {};
};

// Options of `command`, whose bit is `bit`, about `operands`. Errors: usage, as the command line has them.
absl::StatusOr<onnx_mem::Options> OptionsOf(std::string_view command, CommandSet bit, std::vector<std::string> operands,
                                            const WholeQuestion& whole);

}  // namespace onnx_mem::api

#endif  // ONNX_MEM_LIBRARY_QUESTION_OPTIONS_H_
