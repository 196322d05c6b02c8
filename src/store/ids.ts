/** Ids: a prefix that says what a thing is, and a UUIDv7 that says when it was made. The database holds the bare UUID. */
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
} as const;
export type IdKind = keyof typeof idPrefixes;

/** Asking the system for sixteen random bytes takes longer than all the rest: it is asked for many at once. */
let spare = Buffer.alloc(0);

/** RFC 9562 §5.7: 48 bits of milliseconds, then 74 random bits. */
export function makeUuid(nowMs: number): string {
  if (spare.length === 0) spare = randomBytes(4096);
  const bytes = spare.subarray(0, 16);
  spare = spare.subarray(16);
  bytes.writeUIntBE(nowMs, 0, 6);
  bytes[6] = 0x70 | (bytes[6]! & 0x0f);
  bytes[8] = 0x80 | (bytes[8]! & 0x3f);
  return format(bytes);
}

/** The smallest UUIDv7 of a moment: the bound of a partition. */
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

/** The UUID of a wire id of this kind, or undefined: an id of another kind or shape is simply not found. */
export function fromWireId(kind: IdKind, id: string): string | undefined {
  const match = /^([a-z]+)_([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$/.exec(id);
  return match?.[1] === idPrefixes[kind] ? match[2] : undefined;
}

function format(bytes: Buffer): string {
  const hex = bytes.toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
