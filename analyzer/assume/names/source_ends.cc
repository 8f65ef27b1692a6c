// Which values have no name behind their own statement, though its line does not tell what each of its parts makes.
//
//   99  q, k = rotate(q, k, cos, sin)     what leaves the statement takes both names: the rest were rotate's own
#include <algorithm>

#include "analyzer/assume/names/source_names.h"

namespace onnx_mem::names {

// How many values that the nodes [begin, end] make are read behind them.
size_t SourceNames::CountResults(int32_t begin, int32_t end) const {
  size_t count = 0;
  for (int32_t i = begin; i <= end; ++i) {
    for (TensorId output : graph_.nodes[NodeId(i)].outputs) {
      if (!output.valid()) continue;
      const auto& readers = graph_.tensors[output].consumers;
      count += std::any_of(readers.begin(), readers.end(), [&](NodeId reader) { return reader.value() > end; });
    }
  }
  return count;
}

std::optional<SourceNames::Maker> SourceNames::MakerOf(TensorId id) const {
  const Tensor& tensor = graph_.tensors[id];
  if (!any_ || !tensor.producer.valid() || tensor.consumers.empty()) return std::nullopt;
  const Frame* home = HomeOf(id);
  if (home == nullptr) return std::nullopt;
  const size_t run = RunOf(*home, tensor.producer.value());
  return home->runs[run].line == nullptr ? std::nullopt : std::optional(Maker{home, run});
}

std::optional<int32_t> SourceNames::HeldAtMostUntil(TensorId id) const {
  const std::optional<Maker> known = MakerOf(id);
  if (!known) return std::nullopt;
  const Frame& frame = *known->frame;
  const size_t maker = known->run;
  const Run& made = frame.runs[maker];
  if (ReadingRuns(frame, id).back() != maker) return std::nullopt;
  const Statement& statement = made.line->statement;
  const std::vector<Name>& targets = statement.targets;
  const bool names_all = statement.kind == StatementKind::kAssign && statement.whole && !targets.empty() &&
                         std::none_of(targets.begin(), targets.end(), [](const Name& name) { return name.empty(); });
  if (!names_all || IsContainersLoop(*made.line)) return std::nullopt;
  const int32_t begin = frame.units[made.first].begin, end = frame.units[made.last].end;
  if (CountResults(begin, end) < targets.size()) return std::nullopt;
  return end;
}

}  // namespace onnx_mem::names
