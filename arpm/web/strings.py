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
NO_CHANGE = "body: give 'preset', 'changes' or 'model', or several of them."
ONE_OF = "body: give exactly one of {names}."
BAD_ROUNDS = "body.rounds: must be the first and the last round, two whole numbers from 1."
BAD_IDS = "body.{name}: must be a list of ids, not empty."
BAD_COLUMNS = "body.columns: must be two to four objects with 'preset', 'changes' and 'model', each of them optional."
BAD_CLOCK = "body.kind: must be system, fixed or offset, got {given!r}."
BAD_TIME = "body.at: must be an ISO 8601 time with a timezone, such as 2026-03-01T09:00:00+08:00."
BAD_OFFSET = "body.offset_seconds: must be a number between -{limit:,} and {limit:,} (a hundred years)."
BAD_STATE = "?state: must be one of {states}, got {given!r}."
BAD_VERDICT = "body.{name}: must be yes, no or unsure, got {given!r}."
AUDITING = "An audit of this kind is running already. Follow it, or stop it first."
NO_RUN = "There was no {kind} since this server was started."
BAD_DEPTH = "body.depth: must be arithmetic, retrieval or generation, got {given!r}."
MODEL_NEEDS_DEPTH = "body.model: another model can answer only at the depth generation."
BAD_CHOICE = "?{name}: must be one of {choices}, got {given!r}."
BAD_STAGE = "?stage: must be session, all or a number of rounds such as 20, got {given!r}."
MISSING_QUERY = "?{name}: is missing."
NOTHING_TO_DRAW = "There is nothing to draw: {why}"
NO_SHIFTS = "no counterfactual was run since this server was started, or something was erased since."
NO_SIGHTINGS = "no turn had a memory of these among its candidates."
NO_ROWS = "no model has replied there yet."
NOTHING_CHECKED = "no reply there had a standing instruction that code could check."
BAD_REPLIES = "body.replies: must be quoting or all, or left out; got {given!r}."
BAD_FORMAT = "body.format: must be one of {formats}, got {given!r}."
NO_EXPORT = "There is no export {export!r} in {folder}; it may have been erased or moved."
NO_EXPORTED_FILE = "The export {export!r} has no file {file!r} that is as it was written."
NO_CHECKPOINT = "There is no checkpoint file {file!r} in {folder}."
UPLOADED = "The uploaded file"
COMPARING = "This timeline is comparing already. Stop that first."
NO_FILE = "The upload holds no file; send one as the form field 'file' of multipart/form-data."
MANY_FILES = "The upload holds {count} files; send one at a time."
BAD_KEY = "The Idempotency-Key header must be 1 to 128 visible ASCII characters."
KEY_REUSED = "This Idempotency-Key was used for another message. Nothing was sent; use a new key."
BUSY = "This timeline is answering another message. Wait for it, or stop it, and send again."
ERASED = "The record of this turn was erased."
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
    "pages": "Pages",
    "chat": "Chat",
    "memory": "Memory",
    "panel": "Panel",
    "audit": "Audit",
    "skip": "Skip to the message",
    "skip_to_memories": "Skip to the memories",
    "timeline": "Timeline",
    "timelines": "Timelines",
    "new_timeline": "New timeline",
    "search_timelines": "Search timelines",
    "show_keys": "Keys",
    "keep_message": "Leave it as it is",
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
    "skip_to_audit": "Skip to what is shown",
    "skip_to_panel": "Skip to the panel",
    "panel_session": "Running session",
    "panel_tune": "Presets and settings",
    "panel_compare": "Compare",
    "panel_clock": "Clock",
    "panel_presets": "Presets",
    "panel_presets_hint": "A preset sets every switch and constant at once. Choose one to see what it would change.",
    "panel_settings": "Switches and constants",
    "panel_settings_hint": "In the order in which a turn runs. Change what you like; nothing holds until you apply it.",
    "panel_filter": "Find a setting",
    "panel_only_changed": "Only what is changed",
    "panel_discard": "Discard",
    "panel_stages": "Stages of a turn",
    "panel_compare_title": "One message, side by side",
    "panel_compare_promise": "Nothing is remembered or recorded: memory, ledger and rounds stay as they are.",
    "panel_compare_hint": "What would you ask? Enter compares, Shift+Enter starts a new line, Esc stops.",
    "panel_add_column": "Add a column",
    "panel_clock_title": "The clock of the experiment",
    "panel_clock_hint": (
        "Every turn takes its time from this clock, on all timelines, and records which clock it was."
        " When ARPM starts again, it is the system's."
    ),
    "panel_clock_kind": "Which clock",
    "panel_clock_system": "This computer's clock",
    "panel_clock_fixed": "A clock that stands still",
    "panel_clock_offset": "This computer's clock, moved",
    "panel_clock_at": "Date and time",
    "panel_clock_zone": "Timezone",
    "panel_clock_days": "Days",
    "panel_clock_hours": "Hours",
    "panel_clock_set": "Set the clock",
    "clock": "Times come from the experiment clock “{name}”, not from this computer's.",
    "no_script": "ARPM's page needs JavaScript, all of which comes from this server.",
}


def size(count: int) -> str:
    """A number of bytes for a person: "32 MiB", "1,000 bytes"."""
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if count >= unit and count % unit == 0:
            return f"{count // unit:,} {name}"
    return f"{count:,} bytes"
