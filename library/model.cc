// The questions of the public header: each becomes options, which the command's own answer takes.
#include <utility>

#include "absl/strings/str_format.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/onnx/build/import.h"
#include "cli/answers/answers.h"
#include "cli/options/option_values.h"
#include "library/answers.h"
#include "library/asked_options.h"
#include "library/guard.h"

namespace onnx_mem::api {

struct Model::File {
  std::string path;
  std::shared_ptr<const ModelFile> file;
};

Model::Model(std::shared_ptr<const File> file) : file_(std::move(file)) {}

namespace {

absl::StatusOr<Model> ModelFrom(absl::StatusOr<ModelFile> file, const std::string& path) {
  RETURN_IF_ERROR(file.status());
  return Model(
      std::make_shared<const Model::File>(Model::File{path, std::make_shared<const ModelFile>(*std::move(file))}));
}

OptionWords Joined(OptionWords words, const OptionWords& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

Result<Model> Model::Open(const std::string& path) {
  return Guarded<Model>([&] { return ModelFrom(ModelFile::Open(path), path); });
}

Result<Model> Model::Parse(std::string bytes, const std::string& name) {
  return Guarded<Model>([&] { return ModelFrom(ModelFile::Parse(std::move(bytes), name), name); });
}

Result<Analysis> Model::Analyze(const Workload& workload, const Listing& listing) const {
  return Guarded<Analysis>([&]() -> absl::StatusOr<Analysis> {
    ASSIGN_OR_RETURN(const onnx_mem::Options options,
                     OptionsOf("analyze", kAnalyzeCommand, {file_->path}, workload, WordsOf(listing)));
    ASSIGN_OR_RETURN(onnx_mem::Answered answered, AnswerAnalyze(options, {file_->file}));
    return AnalysisFrom(std::move(answered));
  });
}

Result<Plans> Model::Plan(const Workload& workload, const PlanOptions& plan, const Listing& listing) const {
  return Guarded<Plans>([&]() -> absl::StatusOr<Plans> {
    ASSIGN_OR_RETURN(const onnx_mem::Options options,
                     OptionsOf("plan", kPlanCommand, {file_->path}, workload, Joined(WordsOf(plan), WordsOf(listing))));
    ASSIGN_OR_RETURN(onnx_mem::Answered answered, AnswerPlan(options, {file_->file}));
    return PlansFrom(std::move(answered));
  });
}

Result<Fitting> Model::Fit(const Workload& workload, const Listing& listing) const {
  return Guarded<Fitting>([&]() -> absl::StatusOr<Fitting> {
    ASSIGN_OR_RETURN(const onnx_mem::Options options,
                     OptionsOf("fit", kFitCommand, {file_->path}, workload, WordsOf(listing)));
    ASSIGN_OR_RETURN(onnx_mem::Answered answered, AnswerFit(options, {file_->file}));
    return FittingFrom(std::move(answered));
  });
}

Result<Comparison> Model::Compare(const std::vector<Model>& models, const Workload& workload,
                                  std::optional<double> max_increase, const Listing& listing) {
  return Guarded<Comparison>([&]() -> absl::StatusOr<Comparison> {
    if (models.empty()) return UsageError("no models to compare");
    std::vector<std::string> paths;
    OpenModels open;
    for (const Model& model : models) {
      paths.push_back(model.file_->path);
      open.push_back(model.file_->file);
    }
    OptionWords words = WordsOf(listing);
    if (max_increase) words.emplace_back("--max-increase", absl::StrFormat("%.15g", 100 * *max_increase));
    ASSIGN_OR_RETURN(const onnx_mem::Options options,
                     OptionsOf("compare", kCompareCommand, std::move(paths), workload, words));
    ASSIGN_OR_RETURN(onnx_mem::Answered answered, AnswerCompare(options, open));
    return ComparisonFrom(std::move(answered));
  });
}

std::string Version() { return ONNX_MEM_VERSION; }

}  // namespace onnx_mem::api
