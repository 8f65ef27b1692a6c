"""Callbacks of training loops that hold the prediction against what the first step takes:

    from onnx_mem.integrations.transformers import MemoryReport      # Trainer(..., callbacks=[MemoryReport()])
    from onnx_mem.integrations.lightning import MemoryReport         # Trainer(callbacks=[MemoryReport()])

Each prints a line when the first optimizer step is done, and warns where the step took more or less than the range of
the prediction. A run of training never ends because of them: what fails here is one line of warning."""
