/** Converts domain names between bytes and presentation form (RFC 1035 §5.1) without loss: unusual bytes and dots inside labels
 * are escaped. Used by message-read.ts, message-write.ts and resolver.ts. */

/** Bytes that are not a DNS message, or values that cannot be encoded as one. */
export class MalformedMessage extends Error {
  override readonly name = "MalformedMessage";
}

const maxNameBytes = 255;
const maxLabelBytes = 63;
/** Real names need one or two pointers. Without a limit, chains of pointers make parsing quadratic. */
const maxJumps = 32;
const dot = 0x2e;
const backslash = 0x5c;

/** Reads the name at `offset`; `end` is the offset after it. */
export function readName(bytes: Buffer, offset: number): { name: string; end: number } {
  const labels: string[] = [];
  let at = offset;
  let end = -1;
  let length = 1;
  let jumps = 0;
  let lowest = offset;
  for (;;) {
    const size = byteAt(bytes, at);
    if (size === 0) break;
    if ((size & 0xc0) === 0xc0) {
      const target = ((size & 0x3f) << 8) | byteAt(bytes, at + 1);
      if (end < 0) end = at + 2;
      jumps += 1;
      // RFC 1035 §4.1.4: a pointer must point to an earlier offset, which excludes loops.
      if (target >= lowest || jumps > maxJumps)
        throw new MalformedMessage("a name has a forward pointer or too many pointers");
      lowest = target;
      at = target;
      continue;
    }
    if ((size & 0xc0) !== 0) throw new MalformedMessage("a label has an unknown type");
    length += size + 1;
    if (length > maxNameBytes) throw new MalformedMessage("a name is over 255 bytes");
    if (at + 1 + size > bytes.length) throw new MalformedMessage("a name ends outside the message");
    labels.push(showLabel(bytes, at + 1, at + 1 + size));
    at += size + 1;
  }
  return { name: labels.join("."), end: end < 0 ? at + 1 : end };
}

/** The labels of a name in presentation form, as bytes. Throws MalformedMessage if the name is invalid. */
export function labelsOf(name: string): Buffer[] {
  const labels: Buffer[] = [];
  let label: number[] = [];
  let total = 1;
  const finish = (): void => {
    if (label.length === 0 || label.length > maxLabelBytes) {
      throw new MalformedMessage(`${JSON.stringify(name)} has an empty label or one over 63 bytes`);
    }
    labels.push(Buffer.from(label));
    total += label.length + 1;
    label = [];
  };
  for (let i = 0; i < name.length; i++) {
    const code = name.charCodeAt(i);
    if (code === dot) {
      finish();
      if (i === name.length - 1) return checked();
      continue;
    }
    if (code !== backslash) {
      if (code < 0x21 || code > 0x7e)
        throw new MalformedMessage(`${JSON.stringify(name)} contains a character that must be escaped`);
      label.push(code);
      continue;
    }
    const decimal = /^\d{3}/.exec(name.slice(i + 1, i + 4))?.[0];
    const escaped = decimal === undefined ? name.charCodeAt(i + 1) : Number(decimal);
    if (!(escaped <= 255)) throw new MalformedMessage(`${JSON.stringify(name)} has an invalid escape`);
    label.push(escaped);
    i += decimal === undefined ? 1 : 3;
  }
  if (name !== "") finish();
  return checked();

  function checked(): Buffer[] {
    if (total > maxNameBytes) throw new MalformedMessage(`${JSON.stringify(name)} is over 255 bytes`);
    return labels;
  }
}

function showLabel(bytes: Buffer, from: number, to: number): string {
  const plain = bytes.toString("latin1", from, to);
  if (/^[!-\-/-[\]-~]+$/.test(plain)) return plain;
  let shown = "";
  for (const character of plain) {
    const code = character.charCodeAt(0);
    if (code === dot || code === backslash) shown += `\\${character}`;
    else if (code < 0x21 || code > 0x7e) shown += `\\${code.toString().padStart(3, "0")}`;
    else shown += character;
  }
  return shown;
}

function byteAt(bytes: Buffer, offset: number): number {
  const byte = bytes[offset];
  if (byte === undefined) throw new MalformedMessage("the message ends inside a name");
  return byte;
}
