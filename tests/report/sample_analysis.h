// A training step small enough to follow by hand, for tests of reports.
//
//   step      0 conv  1 relu  2 loss  3 relu'  4 conv'  5 adam
//   w 400     |==============================================|   parameters, module a.conv
//   x 300     |==============================================|   inputs
//   m 800     |==============================================|   optimizer_state, module a.conv
//   y 1000    |======================================|           saved_activations [0, 5), module a.conv
//   z 1000            |==============|                           transient_activations [1, 3), module a.relu
//   l 4                       |======================|           transient_activations [2, 5)
//   dy 1000                           |==============|           activation_gradients [3, 5), module a.relu
//   dw 400                                    |==============|   gradients [4, 6), module a.conv
//
// alive:      2500    3500    3504    3504     3904     1900
#ifndef ONNX_MEM_TESTS_REPORT_SAMPLE_ANALYSIS_H_
#define ONNX_MEM_TESTS_REPORT_SAMPLE_ANALYSIS_H_

#include <string>
#include <utility>

#include "analyzer/analysis/analysis.h"

namespace onnx_mem {

inline Buffer SampleBuffer(std::string name, Category category, int64_t bytes, int begin, int end, std::string module) {
  Buffer buffer;
  buffer.name = std::move(name);
  buffer.category = category;
  buffer.bytes = bytes;
  buffer.begin = StepId(begin);
  buffer.end = StepId(end);
  buffer.module = std::move(module);
  buffer.dims = {bytes / 4};
  buffer.dtype = DType::kFloat32;
  return buffer;
}

inline Step SampleStep(std::string op, std::string module, Phase phase, int64_t flops) {
  Step step;
  step.op = op;
  step.node = module.empty() ? "" : "/" + module;
  step.module = std::move(module);
  step.phase = phase;
  step.flops = flops;
  return step;
}

inline RunFigures FiguresOf(MemoryProgram program) {
  RunFigures figures;
  figures.timeline = ComputeTimeline(program);
  figures.program = std::make_shared<const MemoryProgram>(std::move(program));
  figures.peak_bytes = figures.timeline.peak_bytes;
  figures.first_step_peak_bytes = figures.peak_bytes - 100;
  figures.allocated_peak_bytes = figures.peak_bytes + 96;
  figures.reserved_peak_bytes = 4096;
  figures.device_bytes = 8192;
  figures.device_low_bytes = 8000;
  figures.device_high_bytes = 8400;
  return figures;
}

inline RunFigures SampleTraining() {
  MemoryProgram program;
  program.steps.Add(SampleStep("convolution", "a.conv", Phase::kForward, 2000));
  program.steps.Add(SampleStep("relu", "a.relu", Phase::kForward, 0));
  program.steps.Add(SampleStep("mean", "", Phase::kLoss, 0));
  program.steps.Add(SampleStep("threshold_backward", "a.relu", Phase::kBackward, 0));
  program.steps.Add(SampleStep("convolution_backward", "a.conv", Phase::kBackward, 4000));
  program.steps.Add(SampleStep("_foreach_add_", "", Phase::kOptimizer, 0));
  program.buffers.Add(SampleBuffer("w", Category::kParameters, 400, 0, 6, ""));
  program.buffers.Add(SampleBuffer("x", Category::kInputs, 300, 0, 6, ""));
  program.buffers.Add(SampleBuffer("w.exp_avg", Category::kOptimizerState, 800, 0, 6, ""));
  program.buffers.Add(SampleBuffer("y", Category::kSavedActivations, 1000, 0, 5, "a.conv"));
  program.buffers[BufferId(3)].kept_by = "saved by a.relu";
  program.buffers.Add(SampleBuffer("z", Category::kTransientActivations, 1000, 1, 3, "a.relu"));
  program.buffers.Add(SampleBuffer("loss", Category::kTransientActivations, 4, 2, 5, ""));
  program.buffers.Add(SampleBuffer("grad of y", Category::kActivationGradients, 1000, 3, 5, "a.relu"));
  program.buffers.Add(SampleBuffer("grad of w", Category::kGradients, 400, 4, 6, "a.conv"));
  return FiguresOf(std::move(program));
}

inline RunFigures SampleInference() {
  MemoryProgram program;
  program.steps.Add(SampleStep("convolution", "a.conv", Phase::kForward, 2000));
  program.steps.Add(SampleStep("relu", "a.relu", Phase::kForward, 0));
  program.buffers.Add(SampleBuffer("w", Category::kParameters, 400, 0, 2, "a.conv"));
  program.buffers.Add(SampleBuffer("x", Category::kInputs, 300, 0, 2, ""));
  program.buffers.Add(SampleBuffer("y", Category::kTransientActivations, 1000, 0, 2, "a.conv"));
  program.buffers.Add(SampleBuffer("z", Category::kTransientActivations, 1000, 1, 2, "a.relu"));
  return FiguresOf(std::move(program));
}

inline Analysis SampleAnalysis() {
  Analysis analysis;
  analysis.info.path = "models/net.onnx";
  analysis.info.producer = "pytorch 2.15.0";
  analysis.info.opsets = {{"", 20}};
  analysis.info.node_count = 2;
  analysis.info.bound_dims = {{"batch", 4}, {"seq", 16}};
  analysis.batch = 4;
  analysis.parameters = {
      {.name = "w", .file_name = "w", .module = "a.conv", .dims = {100}, .dtype = DType::kFloat32, .bytes = 400}};
  analysis.parameter_count = 100;
  analysis.parameter_bytes = 400;
  analysis.parts = {{kTrainingPart, std::make_shared<const RunFigures>(SampleTraining())},
                    {kInferencePart, std::make_shared<const RunFigures>(SampleInference())}};
  analysis.saved_activation_bytes = 1000;
  analysis.end_of_forward_bytes = 3500;
  analysis.forward_flops = 2000;
  analysis.backward_flops = 4000;
  Graph graph;
  Node conv;
  conv.name = "/a.conv";
  conv.op = "Conv";
  conv.inputs = {TensorId(0), TensorId(1)};
  conv.outputs = {TensorId(2)};
  Node relu;
  relu.op = "Relu";
  relu.inputs = {TensorId(2)};
  relu.outputs = {TensorId(3)};
  graph.nodes.Add(conv);
  graph.nodes.Add(relu);
  const auto tensor = [&](std::string name, Shape shape, TensorRole role) {
    Tensor added;
    added.name = std::move(name);
    added.dtype = DType::kFloat32;
    added.shape = std::move(shape);
    added.role = role;
    graph.tensors.Add(added);
  };
  tensor("x", Shape({75}), TensorRole::kInput);
  tensor("w", Shape({100}), TensorRole::kInitializer);
  tensor("y", Shape({kUnknownDim, 250}), TensorRole::kActivation);
  tensor("z", Shape({250}), TensorRole::kActivation);
  LinkTensors(graph);
  analysis.graph = std::make_shared<const Graph>(std::move(graph));
  analysis.assumptions = {{"optimizer", "adam"}, {"loss", "mean"}, {"allocator", "pytorch"}};
  Diagnostic& folded = analysis.diagnostics.emplace_back();
  folded.code = Code::kBnFolded;
  folded.severity = Severity::kWarning;
  folded.count = 53;
  folded.message = "53 BatchNorms were folded into their convolutions";
  Diagnostic& inplace = analysis.diagnostics.emplace_back();
  inplace.code = Code::kInplaceAssumed;
  inplace.message = "1 activation runs in place";
  return analysis;
}

}  // namespace onnx_mem

#endif  // ONNX_MEM_TESTS_REPORT_SAMPLE_ANALYSIS_H_
