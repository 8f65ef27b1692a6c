#include "planner/code/rank_setup.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/order/stable_sort.h"
#include "planner/code/python_text.h"
#include "planner/code/tensor_setup.h"

namespace onnx_mem {
namespace {

constexpr size_t kIndent = 9;  // behind "UNITS = ["

std::string TorchName(DType dtype) {
  switch (dtype) {
    case DType::kBFloat16: return "torch.bfloat16";
    case DType::kFloat16: return "torch.float16";
    default: return "torch.float32";
  }
}

// Units from the inside out: a unit takes the parameters that no unit has yet.
std::string UnitsText(std::vector<std::string> units) {
  const auto depth = [](const std::string& unit) { return std::count(unit.begin(), unit.end(), '.'); };
  StableSort(units, [&](const std::string& a, const std::string& b) { return depth(a) > depth(b); });
  std::vector<std::string> kinds;
  for (const std::string& unit : units) kinds.push_back(absl::StrCat(depth(unit)));
  return GroupedList(units, std::move(kinds), kIndent);
}

// A mesh for each way in which the step is spread, by name where there are several.
std::string MeshOfAll(const RankLayout& layout) {
  std::vector<std::string> sizes, names;
  const auto add = [&](int64_t size, const char* name) {
    sizes.push_back(absl::StrCat(size));
    names.push_back(absl::StrCat("\"", name, "\""));
  };
  if (layout.replicas > 1) add(layout.replicas, "replicate");
  if (layout.data == DataParallel::kFsdp) add(layout.ranks, "shard");
  add(layout.tensor.ranks, "tensor");
  const std::string comma = sizes.size() == 1 ? "," : "";
  return absl::StrCat("init_device_mesh(\"cuda\", (", absl::StrJoin(sizes, ", "), comma, "), mesh_dim_names=(",
                      absl::StrJoin(names, ", "), comma, "))");
}

std::string MeshText(const RankLayout& layout) {
  if (IsTensorParallel(layout)) return layout.replicas == 1 ? "mesh[\"shard\"]" : "mesh[\"replicate\", \"shard\"]";
  if (layout.replicas == 1) return absl::StrCat("init_device_mesh(\"cuda\", (", layout.ranks, ",))");
  return absl::StrCat("init_device_mesh(\"cuda\", (", layout.replicas, ", ", layout.ranks,
                      "), mesh_dim_names=(\"replicate\", \"shard\"))");
}

// Keywords of fully_shard, a line each, the mesh first.
std::string ShardingText(const RankLayout& layout) {
  std::vector<std::string> lines = {absl::StrCat("\"mesh\": ", MeshText(layout))};
  std::vector<std::string> types;
  if (layout.unsharded_type) types.push_back(absl::StrCat("param_dtype=", TorchName(*layout.unsharded_type)));
  if (layout.reduce_type) types.push_back(absl::StrCat("reduce_dtype=", TorchName(*layout.reduce_type)));
  if (!types.empty())
    lines.push_back(absl::StrCat("\"mp_policy\": MixedPrecisionPolicy(", absl::StrJoin(types, ", "), ")"));
  if (layout.host) lines.emplace_back("\"offload_policy\": CPUOffloadPolicy()");
  if (layout.reshard == Reshard::kToSmallerMesh) {
    lines.push_back(absl::StrCat("\"reshard_after_forward\": ", layout.reshard_ranks));
  } else if (layout.reshard != Reshard::kDefault) {
    lines.push_back(absl::StrCat("\"reshard_after_forward\": ", layout.reshard == Reshard::kYes ? "True" : "False"));
  }
  return absl::StrCat("    sharding = {", absl::StrJoin(lines, ",\n                "), "}\n");
}

// The plan, and the modules that are split, which FSDP shards once more.
std::string BeforeData(const SpreadPlan& spread) {
  if (!IsTensorParallel(spread.layout)) return "    apply_plan(model)\n";
  return absl::StrCat(TensorImports(spread.split), "    apply_plan(model)\n    mesh = ", MeshOfAll(spread.layout), "\n",
                      TensorSetup(spread.split));
}

// Lists of an optimizer that mix DTensors and tensors are refused.
std::string TensorText(const SpreadPlan& spread) {
  return absl::StrCat(
      BeforeData(spread),
      "    from torch.distributed.tensor import DTensor\n"
      "    parts = [[p for p in model.parameters() if isinstance(p, DTensor) == split] for split in "
      "(True, False)]\n"
      "    return model, optimizer_class([{\"params\": part} for part in parts if part], **settings)\n");
}

std::string FsdpText(const SpreadPlan& spread) {
  const RankLayout& layout = spread.layout;
  std::vector<std::string> imports;
  if (layout.host) imports.emplace_back("CPUOffloadPolicy");
  if (layout.unsharded_type || layout.reduce_type) imports.emplace_back("MixedPrecisionPolicy");
  imports.emplace_back("fully_shard");
  std::string text =
      absl::StrCat(layout.unsharded_type || layout.reduce_type ? "    import torch\n" : "",
                   IsTensorParallel(layout) ? "" : kMeshImport, "    from torch.distributed.fsdp import ",
                   absl::StrJoin(imports, ", "), "\n", BeforeData(spread), ShardingText(layout));
  if (!spread.units.empty()) {
    absl::StrAppend(&text, IsTensorParallel(layout) ? "" : "    known = dict(model.named_modules())\n",
                    "    for name in UNITS:\n",
                    "        fully_shard(known[name if name in known else name.removeprefix(EXPORT_WRAPPER)], "
                    "**sharding)\n");
  }
  return absl::StrCat(text, "    fully_shard(model, **sharding)\n",
                      "    return model, optimizer_class(model.parameters(), **settings)\n");
}

std::string DdpText(const RankLayout& layout) {
  const bool zero = layout.data == DataParallel::kZero1;
  return absl::StrCat(
      zero ? "    from torch.distributed.optim import ZeroRedundancyOptimizer\n" : "",
      "    from torch.nn.parallel import DistributedDataParallel\n", "    apply_plan(model)\n",
      "    model = DistributedDataParallel(model", layout.bucket_view ? ", gradient_as_bucket_view=True" : "", ")\n",
      zero ? "    return model, ZeroRedundancyOptimizer(model.parameters(), optimizer_class, **settings)\n"
           : "    return model, optimizer_class(model.parameters(), **settings)\n");
}

// The user's loop has to do the same: the figures are of gradients that are reduced once.
std::string AccumulationText(const SpreadPlan& spread) {
  if (spread.micro_batches < 2 || spread.layout.sync_every) return "";
  return spread.layout.data == DataParallel::kFsdp
             ? "    # In all micro-batches but the last: model.set_requires_gradient_sync(False).\n"
             : "    # All micro-batches but the last run under model.no_sync().\n";
}

}  // namespace

absl::Status CheckSetup(const SpreadPlan& spread) {
  const RankLayout& layout = spread.layout;
  if (!IsTensorParallel(layout)) return absl::OkStatus();
  const auto refused = [](std::string why) {
    return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kUsage,
                       absl::StrCat("no set-up is printed for this --tp: ", why),
                       {"way out: --emit json, and a set-up of your own with the plan before it"});
  };
  if (layout.tensor.sequence || layout.tensor.loss) {
    return refused("--sequence-parallel and --loss-parallel are more than a style for each layer");
  }
  if (layout.data == DataParallel::kDdp || layout.data == DataParallel::kZero1) {
    return refused("DistributedDataParallel takes no parameters that are split");
  }
  for (const SplitModule& module : spread.split) {
    if (module.in_torch) continue;
    return refused(
        absl::StrCat("torch's styles split an nn.Linear or nn.Embedding with one projection and a weight of "
                     "its own, and '",
                     module.path, "' is not one"));
  }
  return absl::OkStatus();
}

std::string RankSetup(const SpreadPlan& spread) {
  const bool fsdp = spread.layout.data == DataParallel::kFsdp;
  const bool split = IsTensorParallel(spread.layout);
  const std::string units =
      fsdp && !spread.units.empty() ? absl::StrCat("UNITS = ", UnitsText(spread.units), "\n") : "";
  const std::string names = absl::StrCat(split ? SplitNames(spread.split) : "", units);
  return absl::StrCat(
      names, names.empty() ? "" : "\n\n", "def set_up(model, optimizer_class, **settings):\n",
      "    \"\"\"The model as one rank trains it, and its optimizer. Before it: init_process_group, and "
      "the model on its\n    device.\"\"\"\n",
      AccumulationText(spread),
      fsdp    ? FsdpText(spread)
      : split ? TensorText(spread)
              : DdpText(spread.layout));
}

}  // namespace onnx_mem
