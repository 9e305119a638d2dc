"""Every sentence the server side of the web says to a person: the page's fixed labels and the refusals of requests.

What the browser side says is in static/strings.js.
"""

from __future__ import annotations

# -- refusals ---------------------------------------------------------------------------------------------------------

INTERNAL = "Something went wrong inside ARPM. What was recorded before is safe. The server's output has the details."
NOTHING_HERE = "There is nothing at this address."
WRONG_METHOD = "This address does not take {method}."
MALFORMED = "The request could not be understood."
TOO_LARGE = "The request is larger than the limit of {limit:,} bytes."
UPLOAD_TOO_LARGE = (
    "The upload has {size:,} bytes; the limit is {limit:,} bytes. Split the file, or raise upload_limit in arpm.toml."
)
WRONG_HOST = (
    "The request names the host {host!r}, which is not this server. Open the address that ARPM printed when it started."
)
CROSS_SITE = "The request comes from another site ({origin}). Nothing was changed. Use ARPM's own page."
NO_TOKEN = "This server needs its token. Send it as 'Authorization: Bearer …', or log in at /login."
WRONG_TOKEN = "That is not this server's token. It is the value of ARPM_TOKEN where the server was started."
JUNK = "The {part} of the request holds {what}. Nothing was done."
NOT_JSON_TYPE = "The body must be JSON, sent with 'Content-Type: application/json'."
NOT_JSON = "The body is not JSON: {why}."
NOT_AN_OBJECT = "The body must be a JSON object, got {kind}."
UNKNOWN_FIELD = "body.{name}: there is no such field; this address takes {known}."
MISSING_FIELD = "body.{name}: is missing; it must be {kind}."
WRONG_TYPE = "body.{name}: must be {kind}, got {given}."
NOT_A_NUMBER = "?{name}: must be a whole number from {low:,} to {high:,}, got {given!r}."
NO_CHANGE = "body: give 'preset', 'changes' or both."
NO_FILE = "The upload holds no file; send one as the form field 'file' of multipart/form-data."
MANY_FILES = "The upload holds {count} files; send one at a time."
BAD_KEY = "The Idempotency-Key header must be 1 to 128 visible ASCII characters."
KEY_REUSED = "This Idempotency-Key was used for another message. Nothing was sent; use a new key."
BUSY = "This timeline is answering another message. Wait for it, or stop it, and send again."
NOT_RUNNING = "No message is being answered on this timeline."
TOO_MANY_STREAMS = (
    "{limit} replies are being followed already. The turn goes on and will be recorded; reload the page to see it."
)
STOPPING = "The server is stopping. Nothing was sent; send again when it is back."

# -- starting ---------------------------------------------------------------------------------------------------------

PORT_IN_USE = (
    "port {port} is in use on {host}, perhaps by another ARPM. Stop that program, or choose another port:"
    " set ARPM_PORT={other}."
)
PORT_FORBIDDEN = "port {port} is reserved for the system. Choose one from 1024 up: set ARPM_PORT=8787."
HOST_UNKNOWN = "host: {host!r} is no address of this machine ({why}). Set ARPM_HOST=127.0.0.1."

# -- the page ---------------------------------------------------------------------------------------------------------

PAGE = {
    "title": "ARPM",
    "skip": "Skip to the message",
    "timelines": "Timelines",
    "new_timeline": "New timeline",
    "user": "Your name",
    "character": "Character's name",
    "persona": "Persona",
    "persona_hint": "Who the character is and how it speaks. Every prompt begins with this.",
    "timezone": "Your timezone",
    "timezone_hint": "An IANA name such as Europe/Berlin or Asia/Shanghai.",
    "create": "Create",
    "cancel": "Cancel",
    "conversation": "Conversation",
    "message": "Message",
    "message_hint": "Write a message. Enter sends, Shift+Enter starts a new line.",
    "send": "Send",
    "stop": "Stop",
    "clear": "Clear context",
    "clear_hint": "Begin a new session with an empty context window. Memory and instructions go on.",
    "model": "Model",
    "preset": "Preset",
    "earlier": "Show earlier turns",
    "why": "Why this answer",
    "documents": "Documents",
    "add_documents": "Add documents",
    "documents_hint": "Plain text or Markdown, up to {limit}. Every timeline can draw on them.",
    "keys": "Keys",
    "close": "Close",
    "log_in": "Log in",
    "token": "Token",
    "token_hint": "The value of ARPM_TOKEN where the server was started.",
    "wrong_token": WRONG_TOKEN,
    "clock": "Times come from the experiment clock “{name}”, not from this computer's.",
    "no_script": "ARPM's page needs JavaScript, all of which comes from this server.",
}


def size(count: int) -> str:
    """A number of bytes for a person: "32 MiB", "1,000 bytes"."""
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if count >= unit and count % unit == 0:
            return f"{count // unit:,} {name}"
    return f"{count:,} bytes"
