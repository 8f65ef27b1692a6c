// The questions of the public header: each becomes options, which the command's own answer takes.
#include <utility>

#include "analyzer/graph/status_macros.h"
#include "analyzer/onnx/build/import.h"
#include "cli/answers/answers.h"
#include "cli/options/option_values.h"
#include "library/answers.h"
#include "library/guard.h"
#include "library/question_options.h"

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

}  // namespace

Result<Model> Model::Open(const std::string& path) {
  return Guarded<Model>([&] { return ModelFrom(ModelFile::Open(path), path); });
}

Result<Model> Model::Parse(std::string bytes, const std::string& name) {
  return Guarded<Model>([&] { return ModelFrom(ModelFile::Parse(std::move(bytes), name), name); });
}

Result<Analysis> Model::Analyze(const Question& question, const Listing& listing) const {
  return Guarded<Analysis>([&]() -> absl::StatusOr<Analysis> {
    ASSIGN_OR_RETURN(const onnx_mem::Options options,
                     OptionsOf("analyze", kAnalyzeCommand, {file_->path}, {question, listing}));
    ASSIGN_OR_RETURN(onnx_mem::CommandAnswer answered, AnswerAnalyze(options, {file_->file}));
    return AnalysisFrom(std::move(answered));
  });
}

Result<Plans> Model::Plan(const Question& question, const PlanOptions& plan, const Listing& listing) const {
  return Guarded<Plans>([&]() -> absl::StatusOr<Plans> {
    ASSIGN_OR_RETURN(const onnx_mem::Options options,
                     OptionsOf("plan", kPlanCommand, {file_->path}, {question, listing, plan}));
    ASSIGN_OR_RETURN(onnx_mem::CommandAnswer answered, AnswerPlan(options, {file_->file}));
    return PlansFrom(std::move(answered));
  });
}

Result<Fitting> Model::Fit(const Question& question, const Listing& listing) const {
  return Guarded<Fitting>([&]() -> absl::StatusOr<Fitting> {
    ASSIGN_OR_RETURN(const onnx_mem::Options options,
                     OptionsOf("fit", kFitCommand, {file_->path}, {question, listing}));
    ASSIGN_OR_RETURN(onnx_mem::CommandAnswer answered, AnswerFit(options, {file_->file}));
    return FittingFrom(std::move(answered));
  });
}

Result<Comparison> Model::Compare(const std::vector<Model>& models, const Question& question,
                                  std::optional<double> max_increase, const Listing& listing) {
  return Guarded<Comparison>([&]() -> absl::StatusOr<Comparison> {
    if (models.empty()) return UsageError("no models to compare");
    std::vector<std::string> paths;
    OpenModels open;
    for (const Model& model : models) {
      paths.push_back(model.file_->path);
      open.push_back(model.file_->file);
    }
    ASSIGN_OR_RETURN(const onnx_mem::Options options,
                     OptionsOf("compare", kCompareCommand, std::move(paths), {question, listing, {}, max_increase}));
    ASSIGN_OR_RETURN(onnx_mem::CommandAnswer answered, AnswerCompare(options, open));
    return ComparisonFrom(std::move(answered));
  });
}

std::string Version() { return ONNX_MEM_VERSION; }

}  // namespace onnx_mem::api
