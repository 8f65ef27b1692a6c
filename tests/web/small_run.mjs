// As report/page/page_data.cc packs.
export function pack(numbers) {
  const bytes = [];
  for (const number of numbers) {
    let folded = number < 0 ? -2 * number - 1 : 2 * number;
    while (folded >= 128) {
      bytes.push(folded % 128 + 128);
      folded = Math.floor(folded / 128);
    }
    bytes.push(folded);
  }
  return btoa(String.fromCharCode(...bytes));
}

// y = relu(x) and its gradient: x is there before, y is kept.
export function smallRun() {
  return {
    categories: ["parameters", "buffers", "inputs", "gradients", "optimizer state", "saved activations"],
    strings: [0, "", 0, "relu", 0, "x", 0, "y", 0, "saved by relu", 0, "act", 0, "float32 4"],
    runs: [{
      name: "training", peak_bytes: 32, peak_step: 0, device_bytes: 64, reserved_peak_bytes: 48, limit_bytes: 0,
      steps: {count: 3, op: pack([1, 1, 1]), node: pack([0, 0, 0]), module: pack([5, 5, 5]), phase: pack([0, 4, 5])},
      buffers: {count: 2, kind_bytes: pack([16]), kind_text: pack([6]), name: pack([2, 3]), kept_by: pack([0, 4]),
                module: pack([0, 5]), category: pack([4, 11]), kind: pack([0, 0]), begin: pack([0, 0]),
                length: pack([3, 2]), address: pack([0, 2])},
      others: {count: 1, changes: {5: pack([8, 0, -8])}},
    }],
  };
}
