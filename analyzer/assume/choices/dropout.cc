// An evaluation export has lost its dropouts. They are put back where transformers have them: on attention weights, on
// what a linear adds to the residual stream, on the sum of the embeddings, in the feed-forward layers of some; in
// models without attention where those have them (dropout_places.h). With which probability, --dropout P says; without
// the option it is that of the model's build where that is known (dropout_recipe.h), and otherwise none, with a
// diagnostic of what a training run may need on top. With them the evaluation exports of BERT, RoBERTa, GPT-2, ELECTRA,
// AlexNet, VGG, SqueezeNet, FCN and DeepLab give the measured training peak exactly.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analyzer/assume/choices/dropout_places.h"
#include "analyzer/assume/choices/dropout_recipe.h"
#include "analyzer/graph/bytes.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/suggest.h"
#include "analyzer/lower/draft/match.h"
#include "analyzer/lower/operators/site.h"

namespace onnx_mem {
namespace {

void InsertAfter(Draft& draft, NodeId id, double p) {
  const FrameworkNode& before = draft.node(id);
  const TensorId value = before.outputs[0];
  const Tensor& tensor = draft.tensor(value);
  const TensorId dropped = draft.NewTensor(absl::StrCat(tensor.name, "/dropout"), tensor.dtype, tensor.shape.dims);
  draft.ReplaceReaders(value, dropped);
  FrameworkNode dropout = MakeNodeInCallOf(before, "dropout", {value}, {dropped});
  dropout.attributes["p"] = p;
  dropout.name = absl::StrCat(before.name, "/dropout");
  draft.Add(std::move(dropout), draft.rank(id));
}

// Says what was not counted: a warning where the structure is one that drops, a note where it only might.
void ReportLost(Lowering& lowering, const DropoutSpots& spots) {
  constexpr int64_t kNoticeable = 1000;  // one part in
  const bool noticeable = spots.most_bytes > 0 && spots.most_bytes >= MadeBytes(lowering.draft) / kNoticeable;
  if (spots.attentions == 0 && !noticeable) return;
  Diagnostic d{.code = Code::kEvalDropout};
  d.bytes = spots.common_bytes;
  const bool more = spots.most_bytes > spots.common_bytes;
  if (spots.attentions > 0) {
    d.severity = Severity::kWarning;
    d.count = spots.attentions;
    d.message = absl::StrCat(spots.attentions, " attentions without Dropout in an evaluation export");
    d.details.emplace_back("why: if the model trains with dropout, masks and dropped results are saved too");
  } else {
    d.count = static_cast<int64_t>(spots.common.empty() ? spots.possible.size() : spots.common.size());
    d.message =
        "the file shows no Dropout, and none is counted; a model that trains with it saves masks and dropped results "
        "too";
    d.details.emplace_back(spots.common.empty() ? "why: some models have it behind activations"
                           : more ? "why: such models have it ahead of the last layer and between layers, some behind "
                                    "activations too"
                                  : "why: such models have it ahead of the last layer and between layers");
  }
  d.details.emplace_back("try: ... --dropout 0.1   # or 0.1:REGEX behind the modules that drop");
  d.details.emplace_back(kExportRecipe);
  lowering.diagnostics.push_back(std::move(d));
}

// Says what was counted though the file does not show it.
void ReportAssumed(Lowering& lowering, const DropoutRecipe& recipe) {
  const auto count = static_cast<int64_t>(recipe.spots.size());
  const int64_t bytes = DropoutBytes(lowering.draft, recipe.spots);
  lowering.diagnostics.push_back(
      {Code::kDropoutAssumed,
       Severity::kWarning,
       count,
       absl::StrCat("the file shows no Dropout: ", count, " with probability ", recipe.probability, " counted, ",
                    std::string(recipe.why)),
       {"why: their masks and dropped results are saved for backward",
        "try: ... --dropout file   # if the model trains without; P:REGEX if it drops elsewhere",
        std::string(kExportRecipe)},
       bytes});
}

void PutBack(Draft& draft, const std::vector<DropoutSpot>& spots, double p) {
  for (const DropoutSpot& spot : spots) {
    if (spot.place == DropoutPlace::kKernel) {
      draft.mutable_node(spot.node).attributes["dropout"] = p;
    } else {
      InsertAfter(draft, spot.node, p);
    }
  }
}

// Where --dropout P puts them.
std::vector<DropoutSpot> RequestedSpots(Lowering& lowering, const DropoutSpots& spots) {
  const Run& run = lowering.run;
  if (!run.dropout_behind.empty()) return DropoutSpotsBehind(lowering.draft, run.dropout_behind).value_or(spots.common);
  std::vector<DropoutSpot> requested = spots.common;
  if (run.dropout_everywhere) requested.insert(requested.end(), spots.possible.begin(), spots.possible.end());
  return requested;
}

int64_t RestoreRequested(Lowering& lowering, const DropoutSpots& spots) {
  const std::vector<DropoutSpot> requested = RequestedSpots(lowering, spots);
  const auto count = static_cast<int64_t>(requested.size());
  PutBack(lowering.draft, requested, *lowering.run.dropout);
  if (count > 0) {
    lowering.diagnostics.push_back(
        {Code::kRewriteDropout, Severity::kNote, count, absl::StrCat(count, " dropouts put back (--dropout)"), {}, {}});
  } else if (!lowering.run.dropout_behind.empty()) {
    lowering.diagnostics.push_back({Code::kNoMatch,
                                    Severity::kWarning,
                                    1,
                                    absl::StrCat("--dropout: no node and no module matches '",
                                                 lowering.run.dropout_behind, "', so it changes nothing"),
                                    {"try: onnx-mem MODEL --by layer   # lists the names"},
                                    {}});
  }
  return count;
}

}  // namespace

int64_t RestoreDropout(Lowering& lowering) {
  Draft& draft = lowering.draft;
  const Run& run = lowering.run;
  if (!run.training || lowering.training_form || lowering.dropouts > 0) return 0;
  if (run.dropout && *run.dropout <= 0.0) return 0;
  TensorIds outputs;
  for (TensorId id : lowering.source.outputs) outputs.push_back(draft.Resolve(id));
  const DropoutSpots spots = FindDropoutSpots(draft, outputs);
  if (run.dropout) return RestoreRequested(lowering, spots);
  const std::vector<DropoutRecipe> recipes = KnownDropoutRecipes(draft, spots);
  const bool whole =
      spots.attentions == 0
          ? !recipes.empty()
          : std::any_of(recipes.begin(), recipes.end(), [](const DropoutRecipe& recipe) { return recipe.whole_model; });
  if (!whole) ReportLost(lowering, spots);
  int64_t count = 0;
  for (const DropoutRecipe& recipe : recipes) {
    ReportAssumed(lowering, recipe);
    PutBack(draft, recipe.spots, recipe.probability);
    count += static_cast<int64_t>(recipe.spots.size());
  }
  return count;
}

}  // namespace onnx_mem
