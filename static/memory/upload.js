// Sending a file with its progress. `fetch` cannot tell how much of a body has gone out; XMLHttpRequest can.

import { ApiError } from "../api.js";
import { strings } from "../strings.js";

/**
 * Send one file to the knowledge base. `progress(share)` is called from 0 to 1 as it goes out; at 1 the server has it
 * and is indexing. Gives the document; throws ApiError with the server's own words.
 */
export function upload(file, progress) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", "/api/v1/documents");
    request.responseType = "text";
    request.upload.addEventListener("progress", (event) => {
      if (event.lengthComputable) progress(event.loaded / event.total);
    });
    request.upload.addEventListener("load", () => progress(1));
    request.addEventListener("load", () => {
      if (request.status === 201) resolve(JSON.parse(request.responseText).document);
      else reject(refusal(request));
    });
    const lost = () => reject(new ApiError("unreachable", strings.unreachable));
    request.addEventListener("error", lost);
    request.addEventListener("abort", lost);
    const form = new FormData();
    form.append("file", file);
    request.send(form);
  });
}

function refusal(request) {
  try {
    const { error } = JSON.parse(request.responseText);
    return new ApiError(error.kind, error.message, request.status);
  } catch {
    return new ApiError("odd", strings.odd(request.status), request.status);
  }
}
