#include "library/question_options.h"

#include <array>
#include <type_traits>
#include <utility>
#include <variant>

#include "absl/strings/str_format.h"
#include "analyzer/graph/status_macros.h"
#include "cli/options/option_values.h"

namespace onnx_mem::api {
namespace {

absl::Status SetOffload(const Segment& segment, onnx_mem::Segment& planned) {
  for (const onnx_mem::Offload known : onnx_mem::kOffloads) {
    if (segment.offload == onnx_mem::NameOf(known)) planned.offload = known;
  }
  const bool moves = !segment.host_calls.empty() || segment.host_inputs;
  if ((moves || !segment.offload.empty()) && planned.offload == onnx_mem::Offload::kNo)
    return UsageError(absl::StrFormat("a segment moves tensors when '%s': that is no time", segment.offload),
                      {"known: overlapped, waiting; of all that modules save also held, gate"});
  planned.host_inputs = segment.host_inputs;
  for (const std::string& name : segment.host_calls) {
    std::optional<onnx_mem::KeptCall> call = onnx_mem::ParseKeptCall(name);
    if (!call) return UsageError(absl::StrFormat("a segment keeps '%s' on the host, which is no call", name));
    planned.host_calls.push_back(std::move(*call));
  }
  return absl::OkStatus();
}

// As a file of --plan is read: names of nodes stand beside modules for readers.
absl::StatusOr<std::vector<onnx_mem::Segment>> SegmentsOf(const std::vector<Segment>& segments) {
  std::vector<onnx_mem::Segment> plan;
  for (const Segment& segment : segments) {
    onnx_mem::Segment& planned = plan.emplace_back();
    planned.modules = segment.modules;
    for (const std::string& name : segment.keep) {
      if (name.find('#') == std::string::npos) {
        planned.keep.push_back(name);
      } else if (std::optional<onnx_mem::KeptCall> kept = onnx_mem::ParseKeptCall(name)) {
        planned.keep_calls.push_back(std::move(*kept));
      } else {
        return UsageError(absl::StrFormat("a segment keeps '%s', which is no call", name));
      }
    }
    for (const std::string& name : segment.skip) {
      std::optional<onnx_mem::CallId> call = onnx_mem::ParseCallId(name);
      if (!call) return UsageError(absl::StrFormat("a segment skips '%s', which is no call", name));
      planned.skip.push_back(std::move(*call));
    }
    RETURN_IF_ERROR(SetOffload(segment, planned));
    if (segment.modules.empty()) planned.nodes = segment.nodes;
  }
  return plan;
}

// The options of one command as they are filled in: a Set for each type of a member.
class OptionFiller {
 public:
  OptionFiller(std::string_view command, CommandSet bit, onnx_mem::Options& options)
      : command_(command), bit_(bit), options_(options) {}

  absl::Status Set(std::string_view option, const std::string& value, const std::string& initial) {
    return value == initial ? absl::OkStatus() : Put(option, std::string_view(value));
  }
  absl::Status Set(std::string_view option, bool value, bool) {
    return value ? Put(option, Given()) : absl::OkStatus();
  }
  absl::Status Set(std::string_view option, int64_t value, int64_t initial) {
    return value == initial ? absl::OkStatus() : Put(option, Count{value});
  }
  absl::Status Set(std::string_view option, double value, double initial) {
    return value == initial ? absl::OkStatus() : Put(option, Seconds{value});
  }
  absl::Status Set(std::string_view option, const std::optional<double>& fraction, const std::optional<double>&) {
    return fraction ? Put(option, Percent{100 * *fraction}) : absl::OkStatus();
  }
  absl::Status Set(std::string_view option, const std::optional<int64_t>& value, const std::optional<int64_t>&) {
    if (!value) return absl::OkStatus();
    const Setter& set = OptionNamed(option)->setter.set;
    if (std::holds_alternative<SetterOf<SizeOrShare>>(set))
      return Put(option, SizeOrShare{*value, std::nullopt, absl::OkStatus()});
    if (std::holds_alternative<SetterOf<ByteSize>>(set)) return Put(option, ByteSize{*value});
    return Put(option, Count{*value});
  }
  absl::Status Set(std::string_view option, const Batches& batches, const Batches&) {
    return batches.empty() ? absl::OkStatus() : Put(option, batches);
  }
  absl::Status Set(std::string_view option, const std::vector<std::string>& values, const std::vector<std::string>&) {
    for (const std::string& value : values) RETURN_IF_ERROR(Put(option, std::string_view(value)));
    return absl::OkStatus();
  }
  absl::Status Set(std::string_view option, const Sizes& sizes, const Sizes&) {
    for (const auto& [name, size] : sizes) RETURN_IF_ERROR(Put(option, DimBinding(name, size)));
    return absl::OkStatus();
  }
  absl::Status Set(std::string_view option, const Shapes& shapes, const Shapes&) {
    for (const auto& [name, dims] : shapes) {
      RETURN_IF_ERROR(Put(option, ShapeBinding(name, Dims(dims.begin(), dims.end()))));
    }
    return absl::OkStatus();
  }
  // As --plan where the command takes it, which says what it costs too, else as --segment.
  absl::Status Set(std::string_view, const std::vector<Segment>& segments, const std::vector<Segment>&) {
    if (segments.empty()) return absl::OkStatus();
    for (const Segment& segment : segments) {
      if (segment.modules.empty() && segment.nodes.empty()) return UsageError("a segment names no modules or nodes");
    }
    const bool as_plan = (OptionNamed("--plan")->commands & bit_) != 0;
    ASSIGN_OR_RETURN(std::vector<onnx_mem::Segment> own, SegmentsOf(segments));
    if (as_plan) {
      options_.plan = std::move(own);
    } else {
      options_.workload.run.segments = std::move(own);
    }
    return absl::OkStatus();
  }

 private:
  template <class Kind>
  absl::Status Put(std::string_view option, Kind value) {
    const OptionRow& row = *OptionNamed(option);
    if ((row.commands & bit_) == 0) {
      return UsageError(absl::StrFormat("option '%s' is not one of '%s'", option, command_));
    }
    if constexpr (std::is_same_v<Kind, std::string_view>) {
      if (value.empty()) return UsageError(absl::StrFormat("%s needs a value", option));
    }
    return WithName(row.Set(std::move(value), options_), row);
  }

  std::string_view command_;
  CommandSet bit_;
  onnx_mem::Options& options_;
};

// One row of question.inc that has a member here.
struct QuestionMember {
  std::string_view option;
  absl::Status (*set)(std::string_view option, const WholeQuestion& whole, OptionFiller& options) = nullptr;
};

#define ONNX_MEM_MEMBER(type, part, member)                                                        \
  [](std::string_view option, const WholeQuestion& whole, OptionFiller& options) -> absl::Status { \
    return options.Set(option, whole.part.member, type().member);                                  \
  }
constexpr auto kMembers = std::to_array<QuestionMember>({
#define ONNX_MEM_OPTION(field, short_name, long_name, ...) {long_name, field},
#define ONNX_MEM_QUESTION(type, member, initial) ONNX_MEM_MEMBER(Question, question, member)
#define ONNX_MEM_PLANNING(type, member, initial) ONNX_MEM_MEMBER(PlanOptions, plan, member)
#define ONNX_MEM_LISTING(type, member, initial) ONNX_MEM_MEMBER(Listing, listing, member)
#include "include/onnx_mem/question.inc"
});
#undef ONNX_MEM_MEMBER

}  // namespace

absl::StatusOr<onnx_mem::Options> OptionsOf(std::string_view command, CommandSet bit, std::vector<std::string> operands,
                                            const WholeQuestion& whole) {
  onnx_mem::Options options;
  options.command = command;
  options.operands = std::move(operands);
  OptionFiller filler(command, bit, options);
  for (const QuestionMember& member : kMembers) {
    if (member.set != nullptr) RETURN_IF_ERROR(member.set(member.option, whole, filler));
  }
  RETURN_IF_ERROR(filler.Set("--max-increase", whole.max_increase, std::nullopt));
  SettleRuntime(options);
  RETURN_IF_ERROR(CheckTogether(options));
  return options;
}

}  // namespace onnx_mem::api
