"""try_wheel.py MODEL: the installed wheel answers, with nothing but Python's own library around it."""
import subprocess
import sys

import onnx_mem

program = onnx_mem.find_program()
print(program)
version = subprocess.run([program, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
assert version.startswith(f"onnx-mem {onnx_mem.__version__}"), version
report = onnx_mem.analyze(sys.argv[1], batch=8)
assert report.training.peak_bytes > report.inference.peak_bytes > 0, report
assert "torch" not in sys.modules
