"""A card without a card: what `torch.cuda.memory._dump_snapshot` writes, for a program that runs on the CPU.

The program is an ordinary one, with `device="cuda"`. Its operators run on the CPU; storages that would be on the card
are followed from their first operator to their last reference, each with the Python stack at that moment, and placed by
`allocator.py`. At the capacity the allocator gives up as on a card: an `oom` event, the observer, an exception.

What is made up: the C++ frames (the form is that of public snapshots, the operator and the autograd node are the real
ones), paths (so that none of this machine is in the files) and times. As on a card, whose backward runs in a thread of
its own, the frames outside autograd's engine are left out there.
"""

import pickle
import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from allocator import Block, CachingAllocator, OutOfMemory
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

Frame = dict[str, Any]

_OWN = ("snapshots/card.py", "utils/_python_dispatch.py", "torch/_ops.py", "torch/overrides.py", "weakref.py")
_AROUND = ("torch/_dynamo/eval_frame.py", "torch/_compile.py")  # the recorder, where they are innermost
_RECORDER = (
    ("??", "torch::unwind::unwind()"),
    ("??", "torch::CapturedTraceback::gather(bool, bool, bool)"),
    ("memory_snapshot.cpp", "torch::cuda::(anonymous namespace)::gather_with_cpp()"),
)
_MALLOC = (
    "c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::malloc(signed char, unsigned long, CUstream_st*)"
)
_ENGINE = (
    "torch::autograd::Node::operator()(std::vector<at::Tensor, std::allocator<at::Tensor> >&&)",
    "torch::autograd::Engine::evaluate_function(std::shared_ptr<torch::autograd::GraphTask>&, ...)",
    "torch::autograd::Engine::thread_main(std::shared_ptr<torch::autograd::GraphTask> const&)",
    "torch::autograd::python::PythonEngine::thread_init(int, std::shared_ptr<torch::autograd::ReadyQueue> const&, ...)",
    "execute_native_thread_routine",
)


def _shown_path(path: str) -> str:
    for folder in ("site-packages/", "dist-packages/"):
        if folder in path:
            return "/opt/conda/lib/python3.11/site-packages/" + path.split(folder, 1)[1]
    if "/programs/" in path:
        return "/home/user/project/" + path.split("/programs/", 1)[1]
    return "/opt/conda/lib/python3.11/" + path.rsplit("/", 1)[-1]


class Card:
    """Records what runs inside `with card:`; `dump` writes the snapshot."""

    def __init__(
        self, capacity: int, stacks: str = "all", expandable: bool = False, max_entries: int = 1 << 60
    ) -> None:
        self.allocator = CachingAllocator(capacity, expandable)
        self.stacks = stacks
        self.max_entries = max_entries
        self.recording = False
        self.events: list[dict[str, Any]] = []
        self.observer: Callable[[], None] | None = None
        self._blocks: dict[int, Block] = {}
        self._frames: dict[tuple[str, int, str], Frame] = {}
        self._stacks: dict[tuple[int, ...], list[Frame]] = {}
        self._forced: str | None = None  # "cuda" or "cpu": where the result of a copy is
        self._clock = 1_700_000_000_000_000
        self._modes = (_Functions(self), _Operators(self))
        self._clone = torch.UntypedStorage.clone

    def __enter__(self) -> "Card":
        card, clone = self, self._clone

        def cloned(storage: torch.UntypedStorage) -> torch.UntypedStorage:  # what copy.deepcopy makes of a tensor
            copied = clone(storage)
            if storage._cdata in card._blocks:
                card._allocate(copied, "empty_memory_format")
            return copied

        torch.UntypedStorage.clone = cloned  # type: ignore[method-assign]
        for mode in self._modes:
            mode.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        for mode in reversed(self._modes):
            mode.__exit__(*error)
        torch.UntypedStorage.clone = self._clone  # type: ignore[method-assign]

    def finish(self) -> None:
        """torch.cuda.memory._dump_snapshot() at the end of a program that fits."""
        if self.observer:
            self.observer()

    def record(self) -> None:
        """torch.cuda.memory._record_memory_history()."""
        self.recording = True

    @contextmanager
    def placing(self, device: str) -> Iterator[None]:
        before, self._forced = self._forced, device
        try:
            yield
        finally:
            self._forced = before

    def holds(self, tensor: torch.Tensor) -> bool:
        return tensor.untyped_storage()._cdata in self._blocks

    def after(self, operator: str, arguments: list[Any], results: list[Any]) -> None:
        """New storages among the results of an operator, on the card if an argument is there."""
        tensors = [one for one in arguments if isinstance(one, torch.Tensor)]
        on_card = self._forced == "cuda" or (self._forced is None and any(self.holds(one) for one in tensors))
        known = {one.untyped_storage()._cdata for one in tensors}
        for result in results:
            if not on_card or not isinstance(result, torch.Tensor):
                continue
            storage = result.untyped_storage()
            if storage._cdata not in known and storage._cdata not in self._blocks and storage.nbytes() > 0:
                self._allocate(storage, operator)

    def _allocate(self, storage: torch.UntypedStorage, operator: str) -> None:
        frames = self._stack(operator)
        bytes_ = storage.nbytes()
        try:
            block = self.allocator.allocate(bytes_, frames if self.recording else [])
        except OutOfMemory as error:
            self._segments(frames)
            self._event("oom", frames, size=bytes_, device_free=error.device_free)
            if self.observer:
                self.observer()
            raise torch.OutOfMemoryError(f"Tried to allocate {bytes_} bytes") from None
        self._segments(frames)
        self._event("alloc", frames, addr=block.address, size=bytes_)
        key = storage._cdata
        self._blocks[key] = block
        weakref.finalize(storage, self._free, key, bytes_)

    def _free(self, key: int, bytes_: int) -> None:
        block = self._blocks.pop(key)
        frames = self._stack(None)
        self._event("free_requested", frames, addr=block.address, size=bytes_)
        self._event("free_completed", frames, addr=block.address, size=bytes_)
        self.allocator.free(block)

    def _segments(self, frames: list[Frame]) -> None:
        for action, address, size in self.allocator.log:
            self._event(action, frames, addr=address, size=size)
        self.allocator.log.clear()

    def _event(self, action: str, frames: list[Frame], **values: int) -> None:
        self._clock += 7
        if self.recording:
            self.events.append({"action": action, **values, "stream": 0, "time_us": self._clock, "frames": frames})

    def _frame(self, file: str, line: int, name: str) -> Frame:
        return self._frames.setdefault((file, line, name), {"filename": file, "line": line, "name": name})

    def _stack(self, operator: str | None) -> list[Frame]:
        """Innermost first, as the tracer gathers it; `operator` is None for a free."""
        python: list[Frame] = []
        frame = sys._getframe(1)
        in_engine = False
        while frame is not None:
            code = frame.f_code
            if code.co_name == "_engine_run_backward":
                in_engine = True
                break
            own = code.co_filename.endswith((*_OWN, "snapshots/make_snapshots.py"))
            if not own and (python or not code.co_filename.endswith(_AROUND)):
                shown = self._frame(_shown_path(code.co_filename), frame.f_lineno, code.co_name)
                python.append(shown)
            frame = frame.f_back
        frames = python if self.stacks == "python" else self._with_cpp(python, operator, in_engine)
        return self._stacks.setdefault(tuple(id(one) for one in frames), frames)

    def _with_cpp(self, python: list[Frame], operator: str | None, in_engine: bool) -> list[Frame]:
        cpp = [self._frame(file, 0, name) for file, name in _RECORDER]
        if operator is None:
            cpp.append(self._frame("", 0, "c10::intrusive_ptr<c10::StorageImpl>::reset_()"))
        else:
            cpp.append(self._frame("CUDACachingAllocator.cpp", 0, _MALLOC))
            cpp.append(self._frame("RegisterCUDA.cpp", 0, f"at::(anonymous namespace)::wrapper_CUDA_{operator}(...)"))
            cpp.append(self._frame("??", 0, f"at::_ops::{operator}::call(at::Tensor const&, ...)"))
        if in_engine:
            node = torch._C._current_autograd_node()
            between: list[Frame] = python
            if node is not None:
                name = node.name()
                name = name if "::" in name else f"torch::autograd::generated::{name}"
                between = [*python, self._frame("??", 0, f"{name}::apply(std::vector<at::Tensor> &&)")]
            return cpp + between + [self._frame("??", 0, name) for name in _ENGINE]
        if operator is not None:
            called = "to" if operator == "_to_copy" else operator
            name = f"torch::autograd::THPVariable_{called}(_object*)"
            cpp.append(self._frame("python_variable_methods.cpp", 0, name))
        mixed = []
        for one in python:
            mixed += [one, self._frame("Python/ceval.c", 5945, "_PyEval_EvalFrameDefault")]
        return cpp + mixed + [self._frame("??", 0, "_start")]

    def snapshot(self) -> dict[str, Any]:
        def block_of(block: Block) -> dict[str, Any]:
            return {
                "address": block.address,
                "size": block.size,
                "requested_size": block.requested if not block.free else block.size,
                "state": "inactive" if block.free else "active_allocated",
                "frames": block.frames,
            }

        def segment_of(segment: Any) -> dict[str, Any]:
            used = sum(block.size for block in segment.blocks if not block.free)
            return {
                "device": 0,
                "address": segment.address,
                "total_size": segment.size,
                "allocated_size": used,
                "active_size": used,
                "requested_size": sum(block.requested for block in segment.blocks),
                "stream": 0,
                "segment_type": "small" if segment.small else "large",
                "segment_pool_id": (0, 0),
                "is_expandable": self.allocator.expandable,
                "frames": segment.frames if self.recording else [],
                "blocks": [block_of(block) for block in segment.blocks],
            }

        configuration = "expandable_segments:True" if self.allocator.expandable else ""
        return {
            "segments": [segment_of(segment) for segment in self.allocator.segments],
            "device_traces": [self.events[-self.max_entries :]],
            "allocator_settings": {
                "PYTORCH_CUDA_ALLOC_CONF": configuration,
                "max_split_size": -1,
                "garbage_collection_threshold": 0.0,
                "expandable_segments": self.allocator.expandable,
                "roundup_power2_divisions": {"1": 0, "2": 0, "64": 0},
            },
            "external_annotations": [],
        }

    def dump(self, path: str, protocol: int) -> None:
        with open(path, "wb") as file:
            pickle.dump(self.snapshot(), file, protocol=protocol)


class _Operators(TorchDispatchMode):
    def __init__(self, card: Card) -> None:
        super().__init__()
        self._card = card

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        operator = func._schema.name.split("::")[-1]
        if self._card._forced == "cuda" and operator == "clone":
            operator = "_to_copy"
        self._card.after(operator, tree_leaves((args, kwargs)), tree_leaves(result))
        return result


class _Functions(TorchFunctionMode):
    """`device="cuda"` of factories, `.to("cuda")`, `.cuda()`, `.cpu()`."""

    def __init__(self, card: Card) -> None:
        super().__init__()
        self._card = card

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        name = getattr(func, "__name__", "")
        if name in ("to", "cuda", "cpu") and args and isinstance(args[0], torch.Tensor):
            wanted = str(kwargs.get("device", args[1] if name == "to" and len(args) > 1 else name))
            if wanted.startswith(("cuda", "cpu")):
                device = "cuda" if wanted.startswith("cuda") else "cpu"
                if self._card.holds(args[0]) == (device == "cuda"):
                    return args[0]
                with self._card.placing(device):
                    return args[0].clone()
        if str(kwargs.get("device", "")).startswith("cuda"):
            kwargs["device"] = "cpu"
            with self._card.placing("cuda"):
                return func(*args, **kwargs)
        return func(*args, **kwargs)
