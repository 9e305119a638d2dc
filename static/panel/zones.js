// Times in a named timezone, by what the browser knows of timezones. Pure functions.

/** Whether the browser knows that timezone. */
export function isZone(name) {
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return Boolean(name);
  } catch {
    return false;
  }
}

/** "2026-03-01T09:00" on the clocks of `zone`, as ISO 8601 with its offset: "2026-03-01T09:00:00+01:00". */
export function inZone(local, zone) {
  const [date, time] = local.split("T");
  const whole = `${date}T${time.length === 5 ? `${time}:00` : time}`;
  const asUtc = new Date(`${whole}Z`).getTime();
  // Twice: beside a change to or from summer time, the offset of the first guess may be the other one.
  const guess = asUtc - offset(asUtc, zone) * 60_000;
  return whole + written(offset(guess, zone));
}

/** The minutes by which `zone` is ahead of UTC at a moment. */
function offset(moment, zone) {
  const parts = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  }).formatToParts(new Date(moment));
  const of = (type) => Number(parts.find((part) => part.type === type).value);
  const there = Date.UTC(of("year"), of("month") - 1, of("day"), of("hour"), of("minute"), of("second"));
  return Math.round((there - Math.floor(moment / 1000) * 1000) / 60_000);
}

function written(minutes) {
  const two = (number) => String(number).padStart(2, "0");
  const size = Math.abs(minutes);
  return `${minutes < 0 ? "-" : "+"}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}

/** A moment for a person, in `zone`: "Sunday, 1 March 2026, 09:00 CET". */
export function told(moment, zone) {
  return new Intl.DateTimeFormat("en-GB", {
    timeZone: zone,
    weekday: "long",
    day: "numeric",
    month: "long",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    timeZoneName: "short",
  }).format(moment);
}

/** A moment as a date-and-time control takes it, on the clocks of `zone`: "2026-03-01T09:00". */
export function forControl(moment, zone) {
  const parts = new Intl.DateTimeFormat("en-CA", {
    timeZone: zone,
    hourCycle: "h23",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
  }).formatToParts(moment);
  const of = (type) => parts.find((part) => part.type === type).value;
  return `${of("year").padStart(4, "0")}-${of("month")}-${of("day")}T${of("hour")}:${of("minute")}`;
}
