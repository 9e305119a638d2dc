"""The encoder of multilingual-e5-small as an OpenVINO graph with int8 weights.

A post-norm BERT with GELU, then the mean over the tokens where that is wanted. The graph is built from the packaged
weights directly, since OpenVINO's converters would import their usage reporting. Knows nothing about texts or tokens.
"""

from __future__ import annotations

import threading
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from retrieval.embedding.e5s1 import E5Shape
from retrieval.embedding.openvino_runtime import import_openvino

# bfloat16 or float32 is left to OpenVINO, which knows the processor. Dynamic quantization multiplies int8 by int8
# where there is VNNI but no AMX. Unpinned, since the service's other threads run on the same cores.
_COMPILE_OPTIONS: dict[str, object] = {
    "PERFORMANCE_HINT": "LATENCY",
    "DYNAMIC_QUANTIZATION_GROUP_SIZE": 64,
    "ENABLE_CPU_PINNING": False,
}
_MASKED = 10_000.0  # Subtracted from masked attention scores: exp(-10,000) is 0 and bfloat16 can hold it.


class Weights(Protocol):
    """The tensors of the encoder by name: those of a model file, or changed by an adapter."""

    shape: E5Shape

    def widths(self, layer: int) -> tuple[int, int]:
        """How many attention heads and how many feed-forward neurons a layer has."""
        ...

    def floats(self, name: str) -> NDArray[np.float32]:
        """A vector, flat."""
        ...

    def matrix(self, name: str, rows: int) -> NDArray[np.float32]:
        """A matrix of shape (rows, columns)."""
        ...


class E5Graph:
    """The compiled encoder. Threads take turns, one batch each, so a query waits for one batch at most."""

    def __init__(self, weights: Weights, threads: int | None = None, *, pooled: bool = True) -> None:
        openvino = import_openvino()
        options = _COMPILE_OPTIONS if threads is None else {**_COMPILE_OPTIONS, "INFERENCE_NUM_THREADS": threads}
        compiled = openvino.Core().compile_model(_GraphBuilder(openvino, weights).model(pooled), "CPU", options)
        self._request: Any = compiled.create_infer_request()
        self._turn = threading.Lock()

    def run(self, embedded: NDArray[np.float32], mask: NDArray[np.float32]) -> NDArray[np.float32]:
        """The mean hidden state of each row's tokens, not normalised, float32 of shape (rows, hidden); of a graph that
        is not `pooled` the hidden state of every token, of shape (rows, tokens, hidden).

        `embedded` is (rows, tokens, hidden), token plus position embeddings before their layer norm;
        `mask` is (rows, tokens), 1 for a token and 0 for padding.
        """
        with self._turn:
            result: NDArray[np.float32] = self._request.infer([embedded, mask])[0].copy()
        return result


class _GraphBuilder:
    """Writes the graph layer by layer. A node is an OpenVINO output; shapes are (rows, tokens, hidden)."""

    def __init__(self, openvino: Any, weights: Weights) -> None:
        self._openvino = openvino
        self._op = openvino.opset13
        self._weights = weights
        self._shape = weights.shape

    def model(self, pooled: bool) -> Any:
        op = self._op
        embedded = op.parameter([-1, -1, self._shape.hidden], np.float32, name="embedded")
        mask = op.parameter([-1, -1], np.float32, name="mask")
        attention_bias = op.unsqueeze(
            op.multiply(op.subtract(mask, np.float32(1)), np.float32(_MASKED)), self._axes(1, 2)
        )
        hidden = self._layer_norm(embedded, "emb.ln")
        for layer in range(self._shape.layers):
            hidden = self._encoder_layer(hidden, attention_bias, layer)
        result = self._mean(hidden, mask) if pooled else hidden
        return self._openvino.Model([result], [embedded, mask], "multilingual-e5-small")

    def _encoder_layer(self, hidden: Any, attention_bias: Any, number: int) -> Any:
        op, size = self._op, self._shape.hidden
        heads, neurons = self._weights.widths(number)
        layer = f"l{number}"
        attended = self._attention(hidden, attention_bias, layer, heads)
        hidden = self._layer_norm(op.add(hidden, self._linear(attended, f"{layer}.ao", size)), f"{layer}.aln")
        activated = op.gelu(self._linear(hidden, f"{layer}.fi", neurons), "erf")
        return self._layer_norm(op.add(hidden, self._linear(activated, f"{layer}.fo", size)), f"{layer}.oln")

    def _attention(self, hidden: Any, attention_bias: Any, layer: str, heads: int) -> Any:
        op, size = self._op, heads * self._shape.head_size
        query, key, value = (self._split_heads(self._linear(hidden, f"{layer}.{part}", size), heads) for part in "qkv")
        context = op.scaled_dot_product_attention(query, key, value, attention_bias)
        return op.reshape(op.transpose(context, self._axes(0, 2, 1, 3)), self._axes(0, 0, size), True)

    def _split_heads(self, node: Any, heads: int) -> Any:
        split = self._op.reshape(node, self._axes(0, 0, heads, self._shape.head_size), True)
        return self._op.transpose(split, self._axes(0, 2, 1, 3))

    def _linear(self, node: Any, name: str, rows: int) -> Any:
        product = self._op.matmul(node, self._int8_matrix(f"{name}.w", rows), False, True)
        return self._op.add(product, self._floats(f"{name}.b"))

    def _int8_matrix(self, name: str, rows: int) -> Any:
        """Constant, Convert, Multiply: the pattern by which the CPU plugin knows compressed weights."""
        matrix = self._weights.matrix(name, rows)
        scale = np.abs(matrix).max(axis=1, keepdims=True) / 127
        quantized = np.rint(matrix / scale).astype(np.int8)
        return self._op.multiply(self._op.convert(self._op.constant(quantized), np.float32), self._op.constant(scale))

    def _layer_norm(self, node: Any, name: str) -> Any:
        op = self._op
        normed = op.mvn(node, self._axes(-1), True, self._shape.epsilon, "inside_sqrt")
        return op.add(op.multiply(normed, self._floats(f"{name}.w")), self._floats(f"{name}.b"))

    def _mean(self, hidden: Any, mask: Any) -> Any:
        op, tokens = self._op, self._axes(1)
        total = op.reduce_sum(op.multiply(hidden, op.unsqueeze(mask, self._axes(2))), tokens, False)
        return op.divide(total, op.reduce_sum(mask, tokens, True))

    def _floats(self, name: str) -> Any:
        return self._op.constant(self._weights.floats(name))

    def _axes(self, *values: int) -> Any:
        return self._op.constant(np.array(values, np.int64))
