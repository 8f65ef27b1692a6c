// Which node is the last at which a variable of forward code still holds a value.
#include "analyzer/eager/locals.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "analyzer/eager/frames.h"

namespace onnx_mem::eager {
namespace {

// Builds a lowered graph node by node; every tensor is 2x4 unless said otherwise.
class Program {
 public:
  Program() { graph_.inputs.push_back(Make("input", {2, 4})); }

  TensorId input() const { return graph_.inputs[0]; }

  // `calls` as "a > a.b": the module calls around the operator.
  TensorId Run(std::string_view op, std::vector<TensorId> inputs, std::string_view calls = "", Dims dims = {2, 4}) {
    Node node;
    node.op = std::string(op);
    node.name = op;
    node.inputs = std::move(inputs);
    if (!calls.empty()) node.calls = absl::StrSplit(absl::string_view(calls.data(), calls.size()), " > ");
    const TensorId output = Make(op, std::move(dims));
    node.outputs = {output};
    const NodeId id = graph_.nodes.Add(node);
    graph_.tensors[output].producer = id;
    for (TensorId input : node.inputs) graph_.tensors[input].consumers.push_back(id);
    return output;
  }

  // Node index after which `id` goes, with likely locals and with the certain rules alone.
  std::pair<int32_t, int32_t> Release(TensorId id) const {
    return {ReleaseAfter(graph_, FrameRules::kLocals)[id], ReleaseAfter(graph_, FrameRules::kArguments)[id]};
  }

 private:
  TensorId Make(std::string_view name, Dims dims) {
    Tensor tensor;
    tensor.name = std::string(name);
    tensor.shape = Shape(std::move(dims));
    tensor.dtype = DType::kFloat32;
    return graph_.tensors.Add(std::move(tensor));
  }

  Graph graph_;
};

using Nodes = std::pair<int32_t, int32_t>;

TEST(Locals, AFunctionAroundACallHoldsWhatWentIn) {  // x = F.relu(self.bn(self.conv(x)))
  Program p;
  const TensorId x = p.Run("conv", {p.input()}, "first");    // 0
  const TensorId c = p.Run("conv", {x}, "conv");             // 1
  const TensorId n = p.Run("batch_norm", {c}, "bn");         // 2
  const TensorId r = p.Run("relu", {n});                     // 3
  p.Run("conv", {r}, "last");                                // 4
  EXPECT_EQ(p.Release(x), Nodes(3, 1));
  EXPECT_EQ(p.Release(c), Nodes(2, 2)) << "made on the way: no name";
}

TEST(Locals, ModulesOneAfterTheOtherAreStatements) {  // x = self.conv(x); x = self.bn(x); x = self.act(x)
  Program p;
  const TensorId x = p.Run("conv", {p.input()}, "first");
  const TensorId c = p.Run("conv", {x}, "conv");
  const TensorId n = p.Run("batch_norm", {c}, "bn");
  p.Run("relu", {n}, "act");
  EXPECT_EQ(p.Release(x), Nodes(1, 1));
}

TEST(Locals, AConcatenationInAnArgumentBelongsToTheCall) {  // x = self.u(torch.cat([s, self.up(x)]))
  Program p;
  const TensorId s = p.Run("conv", {p.input()}, "s");     // 0
  const TensorId x = p.Run("conv", {s}, "down");          // 1
  const TensorId up = p.Run("conv", {x}, "up");           // 2
  const TensorId cat = p.Run("cat", {s, up}, "", {4, 4});  // 3
  const TensorId u = p.Run("conv", {cat}, "u");           // 4
  p.Run("conv", {u}, "last");                             // 5
  EXPECT_EQ(p.Release(x), Nodes(4, 2));
  EXPECT_EQ(p.Release(up), Nodes(3, 3)) << "made on the way: no name";
}

TEST(Locals, AListThatIsConcatenatedLivesOn) {  // f = [b(x) for b in self.branches]; x = torch.cat(f); self.project(x)
  Program p;
  std::vector<TensorId> parts;
  for (std::string_view branch : {"m > m.0", "m > m.1", "m > m.2"}) parts.push_back(p.Run("conv", {p.input()}, branch));
  const TensorId cat = p.Run("cat", parts, "m", {6, 4});  // 3
  p.Run("conv", {cat}, "m > m.project");                  // 4
  p.Run("conv", {cat}, "last");                           // 5
  EXPECT_EQ(p.Release(parts[1]), Nodes(4, 3)) << "until m returns";
}

TEST(Locals, PiecesOfAChunkGoWhenTheLoopAssignsThemAgain) {  // for f in self.f: a, b = f(x).chunk(2); x = a * b
  Program p;
  TensorId x = p.input();
  std::vector<TensorId> pieces;
  for (std::string_view name : {"f.0", "f.1", "f.2"}) {
    const TensorId wide = p.Run("conv", {x}, name, {2, 8});  // 0, 4, 8
    pieces.push_back(p.Run("slice", {wide}));                // 1, 5, 9
    pieces.push_back(p.Run("slice", {wide}));                // 2, 6, 10
    x = p.Run("mul", {pieces[pieces.size() - 2], pieces.back()});
  }
  EXPECT_EQ(p.Release(pieces[0]).second, 3);
  EXPECT_GE(p.Release(pieces[0]).first, 5) << "until the next round's chunk";
  EXPECT_LE(p.Release(pieces[0]).first, 6);
  EXPECT_EQ(p.Release(pieces[4]).first, 11) << "the last round's until the function returns";
}

TEST(Locals, WhatTwoHeadsReadHasAName) {  // mu, logvar = self.mu(h), self.logvar(h)
  Program p;
  const TensorId h = p.Run("conv", {p.input()}, "enc");  // 0
  const TensorId mu = p.Run("conv", {h}, "mu");          // 1
  const TensorId logvar = p.Run("conv", {h}, "logvar");  // 2
  const TensorId z = p.Run("mul", {mu, logvar});         // 3
  p.Run("conv", {z}, "dec");                             // 4
  EXPECT_EQ(p.Release(h), Nodes(4, 2));
}

TEST(Locals, AShortcutDoesNot) {  // s = self.down(x); x = self.conv(x); x = x + s
  Program p;
  const TensorId x = p.Run("conv", {p.input()}, "enc");         // 0
  const TensorId s = p.Run("conv", {x}, "down", {1, 4});        // 1
  const TensorId c = p.Run("conv", {x}, "conv");                // 2
  const TensorId sum = p.Run("add", {c, s});                    // 3
  p.Run("conv", {sum}, "dec");                                  // 4
  EXPECT_EQ(p.Release(x), Nodes(2, 2));
}

}  // namespace
}  // namespace onnx_mem::eager
