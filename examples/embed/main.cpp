// embed MODEL BATCH GPU: the peak of a training step, and whether it fits the card.
//
//   $ embed resnet50.onnx 64 "RTX 4090"
#include <cstdio>
#include <cstdlib>
#include <onnx_mem/onnx_mem.h>

namespace mem = onnx_mem::api;

int Fail(const mem::Error& error) {
  std::fprintf(stderr, "%s [%s]\n", error.message.c_str(), error.code.c_str());
  for (const std::string& line : error.details) std::fprintf(stderr, "  %s\n", line.c_str());
  return 2;
}

int main(int argc, char** argv) {
  if (argc != 4) return Fail({"usage", "embed MODEL BATCH GPU", {}});
  const mem::Result<mem::Model> model = mem::Model::Open(argv[1]);
  if (!model) return Fail(model.error());

  mem::Question question;
  question.batches = {std::atoll(argv[2])};
  question.mode = "train";
  question.gpu = argv[3];
  const mem::Result<mem::Analysis> analysis = model->Analyze(question);
  if (!analysis) return Fail(analysis.error());

  const mem::Figures& training = *analysis->runs.front().training;
  std::printf("peak %lld bytes in %s, %lld on the GPU: %s %s\n", static_cast<long long>(training.peak_bytes),
              training.peak_phase.c_str(), static_cast<long long>(training.device_bytes),
              analysis->fits ? "fits" : "does not fit", argv[3]);
  return analysis->fits ? 0 : 1;
}
