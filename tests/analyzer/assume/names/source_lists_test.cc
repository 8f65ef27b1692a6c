// Lists and results that run no operator: how long source lines let them hold a value.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/analyzer/assume/names/traced_code.h"

namespace onnx_mem::names {
namespace {

TEST(SourceNames, AListThatPopsFrees) {
  TracedCode p;
  const TensorId a = p.Call("a", {p.input()}, "x = self.a(x)");               // 0
  const TensorId b = p.Call("b", {a}, "x = self.b(x)");                       // 1
  const TensorId c = p.Op("cat", {b, a}, "x = self.cat[i](x, skips.pop())");  // 2
  const TensorId d = p.Call("d", {c}, "x = self.d(x)");                       // 3
  p.Call("e", {d}, "return self.e(x)");
  EXPECT_EQ(p.HeldUntil(a), 1);
  EXPECT_EQ(p.HeldUntil(b), 2);
}

// for x in xs: outs.append(x.relu())  ...  y = self.join(outs); return self.last(y)
TEST(SourceNames, AListHasWhatALineAppendsUntilTheFunctionReturns) {
  const auto held = [](const std::string& join, const std::string& last) {
    TracedCode p;
    const TensorId a = p.Op("relu", {p.input()}, "outs.append(x.relu())");  // 0
    const TensorId b = p.Op("tanh", {p.input()}, "x = torch.tanh(x)");      // 1
    const TensorId c = p.Op("relu", {b}, "outs.append(x.relu())");          // 2
    const TensorId d = p.Op("cat", {a, c}, join);                           // 3
    const TensorId e = p.Op("relu", {d}, last);                             // 4
    p.Call("last", {e}, "return self.last(y)");                             // 5
    return p.HeldUntil(a);
  };
  EXPECT_EQ(held("y = torch.cat(outs)", "y = y.relu()"), 5);
  EXPECT_EQ(held("outs = torch.cat(outs)", "y = outs.relu()"), 3);
  EXPECT_EQ(held("y = torch.cat([outs.pop(), outs.pop()])", "y = y.relu()"), std::nullopt);
  EXPECT_EQ(held("torch.cat([y, outs.pop()], dim=1), mask)", "y = y.relu()"), std::nullopt) << "the end of a statement";
  EXPECT_EQ(held("y = torch.cat(outs)", "outs.append(x.relu())"), std::nullopt) << "a new list, perhaps";
}

// skips = []; for ...: x = self.enc(x); skips.append(x); for skip in reversed(skips): ...
TEST(SourceNames, AListThatALoopReadsMayHoldAllUntilTheFunctionReturns) {
  const auto held = [](const std::string& line) {
    TracedCode p;
    const TensorId a = p.Call("encs.0", {p.input()}, "x = enc(x)");    // 0
    const TensorId b = p.Op("avg_pool", {a}, "x = F.avg_pool2d(x)");   // 1
    const TensorId c = p.Call("encs.1", {b}, "x = enc(x)");            // 2
    const TensorId d = p.Op("avg_pool", {c}, "x = F.avg_pool2d(x)");   // 3
    const TensorId e = p.Op("cat", {d, c}, line);                      // 4
    const TensorId f = p.Op("upsample", {e}, "x = F.interpolate(x)");  // 5
    const TensorId g = p.Op("cat", {f, a}, line);                      // 6
    p.Call("last", {g}, "return self.last(x)");                        // 7
    return std::pair(p.Release(c).first, p.ReleaseAtMost(c));
  };
  EXPECT_EQ(held("x = torch.cat([x, skip], 1)"), std::pair(4, 7)) << "a line may have taken it out of the list";
  EXPECT_EQ(held("x = torch.cat([x, skips.pop()], 1)"), std::pair(4, 4));
}

// outs = []; for layer in layers: x = layer(x); outs.append(x); return outs
TEST(SourceNames, AListOfWhichTheCallerTakesTheLastMayHoldARoundsResult) {
  const auto held = [](const std::string& caller, std::string_view reader) {
    TracedCode p;
    TensorId x = p.input();
    TensorId first;
    for (const char* layer : {"0", "1", "2"}) {
      x = p.Run("conv", {x}, absl::StrCat("encoder > encoder.layers.", layer));
      p.OnLines(x, {"x = self.encoder(x)", "x, _ = layer(x, mask)", "return F.conv2d("});
      if (!first.valid()) first = x;
    }
    p.Op(reader, {x}, caller);  // 3
    return std::pair(p.Release(first).first, p.ReleaseAtMost(first));
  };
  EXPECT_EQ(held("return self.head(x.states[-1][:, 0])", "relu"), std::pair(1, 2));
  EXPECT_EQ(held("return self.head(x.states)", "relu"), std::pair(1, 1));
  EXPECT_EQ(held("return self.head(x.view(x.shape[-1]))", "relu"), std::pair(1, 1));
  EXPECT_EQ(held("return x[-1]", "select"), std::pair(1, 1)) << "of a tensor";
}

// What a later round reads was not there yet.
// x, _ = unit(x): the caller may have what is returned until the line has called again.
TEST(SourceNames, WhatIsReturnedBesideAnotherIsTheCallers) {
  TracedCode p;
  std::vector<TensorId> hidden;
  const auto unit = [&](const std::string& calls, TensorId x, const std::string& returned) {
    const auto run = [&](std::string_view op, TensorIds inputs, const std::string& line) {
      const TensorId id = p.Run(op, std::move(inputs), calls);
      p.OnLines(id, {"x, _ = unit(x)", line});
      return id;
    };
    hidden.push_back(run("relu", {x}, "h = F.relu(x)"));
    const TensorId y = run("tanh", {hidden.back()}, "y = torch.tanh(h)");
    return run("add", {y, x}, returned);
  };
  const TensorId a = unit("units.0", p.input(), "return y + x, h");  // 0 to 2
  const TensorId b = unit("units.1", a, "return y + x, h");          // 3 to 5
  p.Call("head", {b}, "return self.head(x)");                        // 6
  const Calls calls(p.graph());
  const SourceNames names(p.graph(), calls);
  EXPECT_EQ(names.ReturnedMayHoldUntil(hidden[0]), 5) << "the next round has returned another";
  EXPECT_EQ(names.ReturnedMayHoldUntil(hidden[1]), 6) << "to the end";
  EXPECT_EQ(p.ReleaseAtMost(hidden[0]), 5);

  TracedCode one;
  const TensorId h = one.Run("relu", {one.input()}, "unit");
  const TensorId y = one.Run("add", {h, one.input()}, "unit");
  one.OnLines(h, {"x = unit(x)", "h = F.relu(x)"});
  one.OnLines(y, {"x = unit(x)", "return torch.add(h, x)"});
  one.Call("head", {y}, "return self.head(x)");
  const Calls of_one(one.graph());
  EXPECT_EQ(SourceNames(one.graph(), of_one).ReturnedMayHoldUntil(h), -1) << "an operator uses it up";
}

// z, info = self.encode(x): xs = [x]; x = self.first(x); xs += [x]; for layer in self.layers: x = layer(x); xs += [x]
TEST(SourceNames, WhatTheCallerNamesAndNothingReadsMayBeAListOfALoop) {
  const auto held = [](const std::string& caller) {
    TracedCode p;
    const auto run = [&](const std::string& module, TensorId x, const std::string& line) {
      const TensorId id = p.Run("conv", {x}, "encoder > encoder." + module);
      p.OnLines(id, {caller, line, "return F.conv2d("});
      return id;
    };
    const TensorId first = run("first", p.input(), "x = self.first(x)");  // 0
    TensorId x = first;
    for (const char* layer : {"layers.0", "layers.1"}) x = run(layer, x, "x = layer(x)");  // 1, 2
    x = run("last", x, "y = self.last(x)");                                                // 3
    p.Call("head", {x}, "return self.head(z)");                                            // 4
    const Calls calls(p.graph());
    return SourceNames(p.graph(), calls).ReturnedListMayHoldUntil(first);
  };
  EXPECT_EQ(held("z, info = self.encoder(x)"), 4) << "to the end";
  EXPECT_EQ(held("z = self.encoder(x)"), -1);
}

}  // namespace
}  // namespace onnx_mem::names
