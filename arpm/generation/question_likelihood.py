"""How likely the embedded model finds a question after each of several notes.

Runs the model's own graph for all notes in one batch. The last layer, a fifth of the work and by far the largest
output, is computed for the question's tokens alone. Knows nothing about what the figures are used for.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import openvino
from numpy.typing import NDArray
from openvino import opset13 as ops

from arpm.generation.local_model import LoadedModel, read_graph

_ASKS = "\n\nThe question that this answers is:"
_QUESTION_TOKENS = 96  # A longer message is judged by its last tokens, where the question usually stands.
_NOTE_TOKENS = 160


class QuestionLikelihood:
    """log P(token of the question | note, tokens before). Safe between threads; calls take turns."""

    def __init__(self, model: LoadedModel) -> None:
        """Compile the graph of `model` a second time, for scoring: about 300 MB and 3 s. Raises RuntimeError."""
        self._model = model
        compiled = openvino.Core().compile_model(_scoring_graph(read_graph(model.folder)), "CPU")
        self._request = compiled.create_infer_request()
        self._lock = threading.Lock()

    def token_log_probabilities(self, question: str, notes: Sequence[str]) -> NDArray[np.float64]:
        """Log-probabilities in nats, of shape (notes, tokens of the question)."""
        asked = self._ids(" " + " ".join(question.split()))[-_QUESTION_TOKENS:]
        asks = self._ids(_ASKS)
        rows = [self._ids(note)[:_NOTE_TOKENS] + asks + asked for note in notes]
        with self._lock:
            self._request.reset_state()
            logits = self._request.infer(_left_padded(rows, tail=len(asked) + 1))[0]
            # The last position predicts what would follow the question.
            return _log_softmax_at(logits[:, :-1], np.array(asked))

    def _ids(self, text: str) -> list[int]:
        return [int(token) for token in self._model.token_ids(text)[0]] if text else []


def _scoring_graph(graph: openvino.Model) -> openvino.Model:
    """The graph with one more input, `tail`: how many of the last positions to compute logits for."""
    head = graph.get_results()[0].input_value(0).get_node()
    while head.get_type_name() != "MatMul":
        head = head.input_value(0).get_node()
    tail = ops.parameter([1], np.int64, name="tail")
    tail.output(0).set_names({"tail"})
    hidden = head.input_value(0)
    last = ops.slice(hidden, ops.negative(tail), np.array([np.iinfo(np.int64).max]), np.array([1]), np.array([1]))
    head.input(0).replace_source_output(last.output(0))
    graph.add_parameters([tail])
    graph.validate_nodes_and_infer_types()
    return graph


def _left_padded(rows: Sequence[Sequence[int]], tail: int) -> dict[str, Any]:
    """The model's inputs for rows that end together, so that the question is at the same positions in each."""
    width = max(map(len, rows))
    ids = np.zeros((len(rows), width), np.int64)
    mask = np.zeros_like(ids)
    for number, row in enumerate(rows):
        ids[number, width - len(row) :] = row
        mask[number, width - len(row) :] = 1
    return {
        "input_ids": ids,
        "attention_mask": mask,
        "position_ids": np.maximum(mask.cumsum(axis=1) - 1, 0),
        "beam_idx": np.arange(len(rows), dtype=np.int32),
        "tail": np.array([tail], np.int64),
    }


def _log_softmax_at(logits: NDArray[np.float32], tokens: NDArray[np.int64]) -> NDArray[np.float64]:
    """The log-probability of `tokens` under `logits` of shape (rows, tokens, vocabulary)."""
    top = logits.max(axis=2)
    log_sum = top + np.log(np.exp(logits - top[:, :, None]).sum(axis=2))
    chosen: NDArray[np.float64] = (logits[:, np.arange(len(tokens)), tokens] - log_sum).astype(np.float64)
    return chosen
