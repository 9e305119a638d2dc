"""Files that a browser saves and does not show: nothing of them is ever read as a page."""

from __future__ import annotations

import re
import unicodedata

from flask import Response

_UNSAFE = re.compile(r"[^\w.+-]+", re.ASCII)


def attachment(data: bytes, name: str, media_type: str = "application/octet-stream") -> Response:
    """A response that is saved under a name; what is not plain in the name becomes a dash."""
    plain = _UNSAFE.sub("-", unicodedata.normalize("NFKD", name)).strip("-.") or "file"
    return Response(data, mimetype=media_type, headers={"Content-Disposition": f'attachment; filename="{plain}"'})
