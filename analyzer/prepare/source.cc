#include "analyzer/prepare/source.h"

#include <utility>

#include "analyzer/lower/facts/exporter_rules.h"
#include "analyzer/lower/facts/generated_weights.h"
#include "analyzer/lower/facts/merged_weights.h"
#include "analyzer/lower/facts/scripted_calls.h"
#include "analyzer/lower/facts/training_form.h"
#include "analyzer/lower/facts/viewed_parameters.h"

namespace onnx_mem {

Source SourceOf(const Graph& imported) {
  Source source;
  source.imported = &imported;
  source.named = NameViewedParameters(imported);
  source.lost = FindLostTensors(source.graph());
  source.with_weights = StoreGeneratedWeights(source.graph());
  source.split = SplitMergedWeights(source.graph());
  const Graph& graph = source.graph();
  source.residence = FindResidence(graph);
  source.training_form = IsTrainingForm(graph);
  ScopeReader scopes(graph);  // to be called in order, of what runs alone
  source.scopes.reserve(graph.nodes.size());
  for (NodeId id(0); graph.nodes.contains(id); id = NodeId(id.value() + 1)) {
    const bool runs = source.residence.runs[id] && graph.nodes[id].op != "Constant";
    source.scopes.Add(runs ? scopes.Of(graph.nodes[id]) : CallScope());
  }
  PlaceScriptedCalls(graph, source.residence.runs, source.scopes);
  source.exporter_findings = CheckExporterRules(imported);
  return source;
}

}  // namespace onnx_mem
