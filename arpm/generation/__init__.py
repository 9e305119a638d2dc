"""Generating a reply: one small interface (`base`) and its three backends (`local`, `openai`, `transformers`).

Importing the package switches OpenVINO's usage reporting off, before any of its modules can import OpenVINO.
"""

from retrieval.embedding.openvino_runtime import forbid_telemetry

forbid_telemetry()
