"""What the backward of an operator runs, noted beside the operator as that of an autograd.Function is.

For operators that the program has no rule for. Each is called again on tensors of its own, with autograd; what its
node saves is what the hook gets, and the node's formula runs at once on gradients without data. The tensors of the
model have no part in it, so that their lives are what they were.
"""
from __future__ import annotations

from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from .._measure.storages import in_place_of
from .calls import UnruledCall
from .observe import Observer
from .settle import reads

_ENDS = ("detach", "detach_")                      # no gradient passes


class _OfBackward(Observer):
    """Sees what a node runs, in place where no mode would look on."""

    def start(self, node: str) -> None:
        self.in_backward, self._node, self._first = True, node, len(self.values)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None) -> Any:
        there = in_place_of(func, self._node)
        if there is not None and self.is_made_here(args[0]):
            func = there
        return super().__torch_dispatch__(func, types, args, kwargs)

    def is_made_here(self, t: torch.Tensor) -> bool:
        first = self._first_of.get(self._storage_of.get(t.untyped_storage()._cdata, -1))
        return first is not None and first >= self._first


def with_formulas(seen: dict[str, Any]) -> dict[str, Any]:
    """What was observed, with the events of a function around each call of an operator without a rule."""
    events, values = list(seen["events"]), list(seen["values"])
    wanted = _with_gradient(seen)
    for call in reversed(seen["unruled"]):
        _, name, args, kwargs, outs = events[call.at]
        given = reads([args, list(kwargs.values())])
        noted = _Formula(call, given, outs, wanted).noted(values)
        if noted is not None:
            events[call.at:call.at + 1] = [("function", f"operator.{name}"), events[call.at], *noted]
    return {**seen, "events": events, "values": values}


def _with_gradient(seen: dict[str, Any]) -> set[int]:
    """Values that an operator differentiates, or that are returned."""
    found = set()
    for e in seen["events"]:
        if e[0] == "op" and e[1].split(".")[0] not in _ENDS:
            found.update(reads([e[2], list(e[3].values())]))
        elif e[0] == "endbackward":
            found.update(v for _, v in e[1])
    return found & seen["differentiable"] | set(seen["returned"])


class _Formula:
    """given, outs: the values of the call's arguments and results; wanted: those that take a gradient."""

    def __init__(self, call: UnruledCall, given: list[int], outs: list[int], wanted: set[int]) -> None:
        self.call, self.given, self.outs, self.wanted = call, given, outs, wanted
        self.inner = _OfBackward()
        self.outer: dict[int, int] = {}            # values of `inner` -> of the record

    def noted(self, values: list[dict[str, Any]]) -> list[tuple[Any, ...]] | None:
        """The events behind the operator's line, whose values are added to `values`; None where the formula asks for
        data or the node is none of the framework's own: then the program's default rule stands."""
        try:
            tensors, results, saved = self._forward()
            node = next((t.grad_fn for t in results if t.requires_grad), None)
            if node is None:
                return [("endfunction", [], [])]
            if any(t.requires_grad and t.grad_fn is not node for t in results) or None in saved:
                return None
            gradients = self._gradients(results, len(node._input_metadata))
            first = len(self.inner.events)
            pairs = [(self.inner.new(g, "gradient"), self._of(t)) for g, t in gradients if g is not None]
            self.inner.start(node.name())
            with torch.no_grad(), self.inner:
                back = node(*(g for g, _ in gradients))
        except Exception:  # noqa: BLE001
            return None
        to = self._targets(node, back if isinstance(back, tuple) else (back,), tensors)
        self._number_rest(values)
        return [("endfunction", list(dict.fromkeys(saved)), []),
                ("backward", [(self.outer[g], of) for g, of in pairs]), *self._lines(first),
                ("endbackward", [(self.outer[r], of) for r, of in to])]

    def _forward(self) -> Any:
        """Its arguments and results, and the values that it saves."""
        args, kwargs = self.call.again()
        tensors = [t for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)]
        self._bind(tensors, self.given)
        packed: list[torch.Tensor] = []

        def pack(t: torch.Tensor) -> torch.Tensor:
            packed.append(t)
            return t
        with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
            made = self.call.func(*args, **kwargs)
        results = [t for t in tree_leaves(made) if isinstance(t, torch.Tensor)]
        self._bind(results, self.outs)
        saved = [self.outer.get(self.inner.known(t)) for t in packed if t.device.type != "cpu"]
        return tensors, results, saved

    def _bind(self, tensors: list[torch.Tensor], values: list[int]) -> None:
        for t, v in zip(tensors, values, strict=True):
            self.outer[self.inner.value(t)] = v

    def _of(self, t: torch.Tensor) -> int:
        return self.outer[self.inner.value(t)]

    def _gradients(self, results: list[torch.Tensor], count: int) -> list[tuple[Any, Any]]:
        """(gradient, result) of each output of the node; None where none arrives."""
        some = any(t.requires_grad and self._of(t) in self.wanted for t in results)
        found: list[tuple[Any, Any]] = [(None, None)] * count
        for t in results:
            if t.requires_grad and (self._of(t) in self.wanted or not some):
                found[t.output_nr] = torch.empty_like(t, requires_grad=False), t
        return found

    def _targets(self, node: Any, back: Any, tensors: list[torch.Tensor]) -> list[tuple[int, int]]:
        of_leaf = {id(t): t for t in tensors}
        pairs = [(of_leaf.get(id(getattr(leaf, "variable", None))), r)
                 for (leaf, _), r in zip(node.next_functions, back, strict=False)]
        return [(self.inner.value(r), self._of(t)) for t, r in pairs if t is not None and r is not None]

    def _number_rest(self, values: list[dict[str, Any]]) -> None:
        """Gives what backward made numbers of the record's."""
        fresh = 1 + max(v["storage"] for v in values)
        for i, v in enumerate(self.inner.values):
            if i in self.outer:
                continue
            self.outer[i] = len(values)
            root, storage = None, fresh + v["storage"]
            if v["root"] is not None:              # a view: of what was saved, or of what backward made
                of = self.outer[v["root"]]
                root, storage = values[of]["root"], values[of]["storage"]
                root = of if root is None else root
            values.append({**v, "root": root, "storage": storage})

    def _lines(self, first: int) -> list[tuple[Any, ...]]:
        lines: list[tuple[Any, ...]] = []
        for e in self.inner.events[first:]:
            if e[0] == "op":
                kwargs = {k: self._encoded(a) for k, a in e[3].items()}
                lines.append(("op", e[1], self._encoded(e[2]), kwargs, [self.outer[v] for v in e[4]]))
            elif e[0] == "storage_gone":
                lines += [("gone", self.outer[i]) for i, v in enumerate(self.inner.values) if v["storage"] == e[1]]
        return lines

    def _encoded(self, a: Any) -> Any:
        if isinstance(a, dict):
            return {"v": self.outer[a["v"]]} if "v" in a else a
        return [self._encoded(x) for x in a] if isinstance(a, list) else a
