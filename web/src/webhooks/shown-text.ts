/** Text of an endpoint for the eye: characters that are invisible or reorder the line are written out. */

/** Control characters except tab and line feed, and the controls of text direction. */
const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

export function shownText(text: string): string {
  return text
    .replaceAll("\r\n", "\n")
    .replace(hidden, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
