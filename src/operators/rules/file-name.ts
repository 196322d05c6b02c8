/** Names of files in an export. Strangers choose the names of attachments, so a name must not leave its folder, replace another file, or
 * be one that a file system refuses. Pure; called by ../export-content.ts. */

/** File systems allow 255 bytes. The rest is for the number in front. */
const maxBytes = 150;
const maxExtensionBytes = 20;

/** Separators, characters that Windows refuses, control and format characters (such as those that reverse the direction of text), lone
 * surrogates and unassigned code points. */
const unsafe = /[/\\:*?"<>|\p{Cc}\p{Cf}\p{Cs}\p{Cn}\p{Zl}\p{Zp}]/gu;
/** Devices of Windows, with any extension. */
const reserved = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;

/** The number makes names of one email different, also where case or normalization does not count. */
export function attachmentName(filename: string, number: number): string {
  return `${String(number).padStart(2, "0")}-${safeName(filename)}`;
}

export function safeName(filename: string): string {
  const plain = filename
    .normalize("NFC")
    .replace(unsafe, "_")
    .replace(/^[.\s]+|[.\s]+$/g, "");
  const shortened = shorten(plain);
  if (shortened === "") return "attachment";
  return reserved.test(shortened) ? `_${shortened}` : shortened;
}

/** Keeps the extension of a long name. */
function shorten(name: string): string {
  if (Buffer.byteLength(name) <= maxBytes) return name;
  const dot = name.lastIndexOf(".");
  const extension = dot > 0 ? name.slice(dot) : "";
  const kept = Buffer.byteLength(extension) <= maxExtensionBytes ? extension : "";
  return cut(name.slice(0, name.length - kept.length), maxBytes - Buffer.byteLength(kept)) + kept;
}

/** Cuts between characters, not between bytes. */
function cut(text: string, bytes: number): string {
  let result = "";
  let used = 0;
  for (const character of text) {
    used += Buffer.byteLength(character);
    if (used > bytes) break;
    result += character;
  }
  return result.replace(/[.\s]+$/, "");
}
