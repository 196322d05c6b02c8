/** Tells quickly that no object in a JSON text names a key twice, which JSON.parse passes over in silence. */
import type { JsonValue } from "@bufbuild/protobuf";

/**
 * False: certainly not. True: perhaps, and the text has to be looked at character by character, which takes longer than all the rest of
 * reading it. Each member of an object is a quote, perhaps blanks, and a colon somewhere in the text: as long as there are no more of these
 * than keys in what was read, each key was written once.
 */
export function mayRepeatKeys(text: string, json: JsonValue): boolean {
  return colonsAfterQuotes(text) > keysIn(json);
}

function colonsAfterQuotes(text: string): number {
  let colons = 0;
  for (let at = text.indexOf('"'); at >= 0; at = text.indexOf('"', at + 1)) {
    let next = at + 1;
    while (isBlank(text.charCodeAt(next))) next++;
    if (text.charCodeAt(next) === colon) colons++;
  }
  return colons;
}

/** Not by recursion: a text may be nested deeper than the stack is. */
function keysIn(json: JsonValue): number {
  let keys = 0;
  const open = [json];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value !== "object" || value === null) continue;
    const inners = Array.isArray(value) ? value : Object.values(value);
    if (!Array.isArray(value)) keys += inners.length;
    for (const inner of inners) if (typeof inner === "object") open.push(inner);
  }
  return keys;
}

const colon = 58;

/** RFC 8259 §2: blank, tab, line feed and carriage return. */
function isBlank(code: number): boolean {
  return code === 32 || code === 9 || code === 10 || code === 13;
}
