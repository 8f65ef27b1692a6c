// The data of a page with many steps: a chain of layers, forward and backward, each with a parameter and three tensors.
import {pack} from "./small_run.mjs";

export function largeRun(layers) {
  const steps = 4 * layers;
  const rows = [];
  for (let i = 0; i < layers; ++i) {
    rows.push({begin: 0, end: steps, category: 0, made: 0});
    rows.push({begin: 2 * i, end: steps - 2 * i, category: 5, made: 1});
    rows.push({begin: 2 * i + 1, end: 2 * i + 3, category: 6, made: 1});
    rows.push({begin: steps - 2 * i - 2, end: steps - 2 * i, category: 7, made: 1});
  }
  rows.sort((a, b) => a.begin - b.begin);
  const column = (of) => pack(rows.map(of));
  const same = (number) => pack(Array(steps).fill(number));
  return {
    categories: ["parameters", "buffers", "inputs", "gradients", "optimizer state", "saved activations", "transient activations",
                 "activation gradients", "optimizer temporaries", "workspace"],
    strings: [0, "", 0, "linear", 0, "layer", 0, "saved by linear", 0, "float32 1024"],
    runs: [{
      name: "training", peak_bytes: 4096 * (2 * layers + 1), peak_step: 2 * layers - 1, device_bytes: 0, reserved_peak_bytes: 0,
      limit_bytes: 0,
      steps: {count: steps, op: same(1), node: same(0), module: same(2), phase: pack([...Array(steps).keys()].map((s) => (s < steps / 2 ? 0 : 4)))},
      buffers: {count: rows.length, kind_bytes: pack([4096]), kind_text: pack([4]), name: column(() => 2), kept_by: column(() => 3),
                module: column(() => 2), category: column((row) => 2 * row.category + row.made), kind: column(() => 0),
                begin: column((row, i) => row.begin - (i === 0 ? 0 : rows[i - 1].begin)), length: column((row) => row.end - row.begin),
                address: pack(rows.map((_, i) => 16 * i))},
      others: {count: 0, changes: {}},
    }],
  };
}
