/** Finds the public key in a certificate, as the exact bytes that TLSA records with selector 1 cover. Node's own export encodes the key
 * again, which may change them. Called by dane.ts. */

/** The SubjectPublicKeyInfo of a DER certificate (RFC 5280 §4.1), or undefined if the bytes are not a certificate. */
export function readPublicKeyInfo(certificate: Buffer): Buffer | undefined {
  const signed = content(elementAt(certificate, 0), 0x30);
  const body = signed && content(elementAt(signed, 0), 0x30);
  if (!body) return undefined;
  let next = elementAt(body, 0);
  // The version is explicitly tagged and optional.
  if (next?.tag === 0xa0) next = elementAt(body, next.end);
  // Serial number, signature algorithm, issuer, validity and subject come first.
  for (const tag of [0x02, 0x30, 0x30, 0x30, 0x30]) {
    if (next?.tag !== tag) return undefined;
    next = elementAt(body, next.end);
  }
  return next?.tag === 0x30 ? body.subarray(next.start, next.end) : undefined;
}

type Element = { tag: number; start: number; from: number; end: number; bytes: Buffer };

function content(element: Element | undefined, tag: number): Buffer | undefined {
  return element?.tag === tag ? element.bytes.subarray(element.from, element.end) : undefined;
}

function elementAt(bytes: Buffer, start: number): Element | undefined {
  const tag = bytes[start];
  const first = bytes[start + 1];
  if (tag === undefined || first === undefined) return undefined;
  const size = first < 0x80 ? 0 : first - 0x80;
  if (size > 3 || (first >= 0x80 && size === 0) || start + 2 + size > bytes.length) return undefined;
  const length = size === 0 ? first : bytes.readUIntBE(start + 2, size);
  const from = start + 2 + size;
  return from + length > bytes.length ? undefined : { tag, start, from, end: from + length, bytes };
}
