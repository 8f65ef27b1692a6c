// The children of an nn.Sequential are numbered, and an evaluation export keeps no operator of its dropouts: a number
// that no operator bears is where one was.
//
//   classifier.0 Gemm, classifier.1 Relu, classifier.3 Gemm     classifier.2 is lost: a dropout behind the Relu
//   classifier.1 Conv                                           classifier.0 is lost: a dropout ahead of the Conv
//   head.0 Conv, head.2 Relu                                    head.1 is a BatchNorm, folded into the Conv
//   mlp.1 Relu, mlp.2 Gemm                                      no dropout between them
#ifndef ONNX_MEM_ANALYZER_ASSUME_CHOICES_DROPOUT_GAPS_H_
#define ONNX_MEM_ANALYZER_ASSUME_CHOICES_DROPOUT_GAPS_H_

#include <vector>

#include "analyzer/exported/source_trace.h"
#include "analyzer/lower/draft/draft.h"

namespace onnx_mem {

// The nodes whose results were dropped, in running order. What follows a convolution or a linear is left out: a folded
// BatchNorm leaves the same gap.
NodeIds FindSequentialGaps(const Draft& draft);

// True if what reads the result of `id`, and nothing else does, is the next child of the same nn.Sequential: nothing
// ran between the two.
bool IsFollowedAtOnce(const Draft& draft, NodeId id);

// True if the node is an activation behind which some model may drop, by itself (relu) or the last step of one that is
// written out (sin(30 * x)): many drop behind each (MONAI's blocks of convolution, norm, dropout and activation), few
// behind some. What the next child of an nn.Sequential reads was not dropped.
bool MayDropBehind(const Draft& draft, NodeId id);

// Where the file has the source line of every node, they may show that nothing is dropped between an operator and the
// one that reads its result:
//
//   50  x = self.act(self.fc1(x))     no line is left between the two, neither calls anything named after a dropout,
//   and 51  x = self.fc2(x)               nothing but layers of torch runs in them
class DropoutLines {
 public:
  explicit DropoutLines(const Draft& draft) : draft_(draft) {}  // which must outlive this
  // True if the lines leave no room for a dropout behind `id`.
  bool LeaveNoRoom(NodeId id);

 private:
  const Draft& draft_;
  SourceTraceReader traces_;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ASSUME_CHOICES_DROPOUT_GAPS_H_
