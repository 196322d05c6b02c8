/** Ids on the wire: a prefix for the kind and a UUIDv7, which contains the creation time. The database stores the UUID alone. */
import { randomBytes } from "node:crypto";

export const idPrefixes = {
  email: "em",
  domain: "dom",
  event: "evt",
  webhook: "wh",
  delivery: "whd",
  inbound: "in",
  key: "key",
  workspace: "ws",
  member: "mem",
  person: "per",
  session: "ses",
  passkey: "pk",
  link: "lnk",
  dkimKey: "dk",
  report: "rep",
} as const;
export type IdKind = keyof typeof idPrefixes;

/** Random bytes for the next ids. One call for 4096 bytes is much cheaper than one call per id. */
let randomPool = Buffer.alloc(0);

/** RFC 9562 §5.7: 48 bits of milliseconds, then 74 random bits. */
export function makeUuid(nowMs: number): string {
  if (randomPool.length === 0) randomPool = randomBytes(4096);
  const bytes = randomPool.subarray(0, 16);
  randomPool = randomPool.subarray(16);
  bytes.writeUIntBE(nowMs, 0, 6);
  bytes[6] = 0x70 | (bytes[6]! & 0x0f);
  bytes[8] = 0x80 | (bytes[8]! & 0x3f);
  return format(bytes);
}

/** The smallest UUID of a time, which is the bound of a partition. */
export function firstUuidAt(ms: number): string {
  const bytes = Buffer.alloc(16);
  bytes.writeUIntBE(ms, 0, 6);
  return format(bytes);
}

export function uuidTime(uuid: string): number {
  return Number.parseInt(uuid.replaceAll("-", "").slice(0, 12), 16);
}

export function toWireId(kind: IdKind, uuid: string): string {
  return `${idPrefixes[kind]}_${uuid}`;
}

/** The UUID of a wire id of this kind; undefined for an id of another kind or format, which callers treat as not found. */
export function fromWireId(kind: IdKind, id: string): string | undefined {
  const match = /^([a-z]+)_([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$/.exec(id);
  return match?.[1] === idPrefixes[kind] ? match[2] : undefined;
}

function format(bytes: Buffer): string {
  const hex = bytes.toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
