#include "planner/code/rank_setup.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "planner/code/name_patterns.h"
#include "planner/code/python_text.h"

namespace onnx_mem {
namespace {

std::string TorchName(DType dtype) {
  switch (dtype) {
    case DType::kBFloat16: return "torch.bfloat16";
    case DType::kFloat16: return "torch.float16";
    default: return "torch.float32";
  }
}

// "*(f"h.{i}" for i in range(0, 12))", or a name alone.
std::string GroupText(const NameGroup& group, const std::vector<std::string>& names) {
  if (group.numbers.empty()) return Quoted(names[group.members.front()]);
  return absl::StrCat("*(f", Quoted(absl::StrCat(group.before, "{i}", group.after)), " for i in ",
                      SequenceOf(group.numbers), ")");
}

// Units from the inside out: a unit takes the parameters that no unit has yet.
std::string UnitsText(std::vector<std::string> units) {
  const auto depth = [](const std::string& unit) { return std::count(unit.begin(), unit.end(), '.'); };
  std::stable_sort(units.begin(), units.end(),
                   [&](const std::string& a, const std::string& b) { return depth(a) > depth(b); });
  std::vector<std::string> kinds;
  for (const std::string& unit : units) {
    const bool plain = unit.find_first_of("{}") == std::string::npos;
    kinds.push_back(plain ? absl::StrCat(depth(unit)) : unit);
  }
  std::vector<std::string> parts;
  for (const NameGroup& group : GroupNames(units, kinds)) parts.push_back(GroupText(group, units));
  return absl::StrCat("[", absl::StrJoin(parts, ",\n         "), "]");
}

std::string MeshText(const RankLayout& layout) {
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

std::string FsdpText(const SpreadPlan& spread) {
  const RankLayout& layout = spread.layout;
  std::vector<std::string> imports;
  if (layout.host) imports.emplace_back("CPUOffloadPolicy");
  if (layout.unsharded_type || layout.reduce_type) imports.emplace_back("MixedPrecisionPolicy");
  imports.emplace_back("fully_shard");
  std::string text = absl::StrCat(layout.unsharded_type || layout.reduce_type ? "    import torch\n" : "",
                                  "    from torch.distributed.device_mesh import init_device_mesh\n",
                                  "    from torch.distributed.fsdp import ", absl::StrJoin(imports, ", "), "\n",
                                  "    apply_plan(model)\n", ShardingText(layout));
  if (!spread.units.empty()) {
    absl::StrAppend(&text, "    known = dict(model.named_modules())\n", "    for name in UNITS:\n",
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

std::string TextOf(const RankLayout& layout) {
  const std::string units = layout.units.empty() ? "" : absl::StrCat(":", layout.units);
  switch (layout.data) {
    case DataParallel::kNone: break;
    case DataParallel::kDdp: return absl::StrCat("ddp ", layout.ranks);
    case DataParallel::kZero1: return absl::StrCat("zero1 ", layout.ranks);
    case DataParallel::kFsdp:
      return layout.replicas == 1 ? absl::StrCat("fsdp ", layout.ranks, units)
                                  : absl::StrCat("hsdp ", layout.replicas, "x", layout.ranks, units);
  }
  return "";
}

std::string RankSetup(const SpreadPlan& spread) {
  const bool fsdp = spread.layout.data == DataParallel::kFsdp;
  return absl::StrCat(
      fsdp && !spread.units.empty() ? absl::StrCat("UNITS = ", UnitsText(spread.units), "\n\n\n") : "",
      "def set_up(model, optimizer_class, **settings):\n",
      "    \"\"\"The model as one rank trains it, and its optimizer. Before it: init_process_group, and "
      "the model on its\n    device.\"\"\"\n",
      AccumulationText(spread), fsdp ? FsdpText(spread) : DdpText(spread.layout));
}

}  // namespace onnx_mem
