/** Parameters in PostgreSQL's binary format of arrays, for statements that store many rows and for content. */
const textOid = 25;
const byteaOid = 17;
const uuidOid = 2950;
const intOid = 23;
const bigintOid = 20;
const timestamptzOid = 1184;

/**
 * Encodes texts as one parameter in PostgreSQL's binary format of text[]. The text format would be quoted here, unquoted by the
 * server, and copied five times in between. Used for email content, which is most of the data sent to the database.
 */
export function textArray(texts: readonly (string | null)[]): Buffer {
  const write = (bytes: Buffer, text: string, at: number) => bytes.write(text, at);
  return binaryArray(texts, { oid: textOid, lengthOf: (text) => Buffer.byteLength(text), write });
}

/** The same for bytea[]. */
export function byteaArray(values: readonly (Buffer | null)[]): Buffer {
  const write = (bytes: Buffer, value: Buffer, at: number) => value.copy(bytes, at);
  return binaryArray(values, { oid: byteaOid, lengthOf: (value) => value.length, write });
}

/** The same for uuid[], of texts with 32 digits and hyphens. */
export function uuidArray(ids: readonly (string | null)[]): Buffer {
  const write = (bytes: Buffer, id: string, at: number) => bytes.write(id.replaceAll("-", ""), at, 16, "hex");
  return binaryArray(ids, { oid: uuidOid, lengthOf: () => 16, write });
}

/** The same for integer[]. */
export function intArray(values: readonly (number | undefined)[]): Buffer {
  const write = (bytes: Buffer, value: number, at: number) => bytes.writeInt32BE(value, at) - at;
  return binaryArray(
    values.map((value) => value ?? null),
    { oid: intOid, lengthOf: () => 4, write },
  );
}

/** The same for bigint[]. A text has decimal digits. */
export function bigintArray(values: readonly (number | string | undefined)[]): Buffer {
  return binaryArray(
    values.map((value) => value ?? null),
    { oid: bigintOid, lengthOf: () => 8, write: writeBigint },
  );
}

/** The same for timestamptz[]. */
export function timeArray(times: readonly (Date | null)[]): Buffer {
  const write = (bytes: Buffer, time: Date, at: number) => writeBigint(bytes, (time.getTime() - year2000Ms) * 1000, at);
  return binaryArray(times, { oid: timestamptzOid, lengthOf: () => 8, write });
}

/** PostgreSQL counts microseconds from here. */
const year2000Ms = Date.UTC(2000);

function writeBigint(bytes: Buffer, value: number | string, at: number): number {
  return bytes.writeBigInt64BE(BigInt(value), at) - at;
}

type Encoding<T> = { oid: number; lengthOf(value: T): number; write(bytes: Buffer, value: T, at: number): number };

/** The format of array_recv in PostgreSQL's src/backend/utils/adt/arrayfuncs.c. */
function binaryArray<T>(values: readonly (T | null)[], { oid, lengthOf, write }: Encoding<T>): Buffer {
  const lengths = values.map((value) => (value === null ? null : lengthOf(value)));
  const bytes = Buffer.allocUnsafe(20 + lengths.reduce<number>((sum, length) => sum + 4 + (length ?? 0), 0));
  // An empty array has no dimensions.
  let at = bytes.writeInt32BE(values.length === 0 ? 0 : 1, 0);
  at = bytes.writeInt32BE(lengths.includes(null) ? 1 : 0, at);
  at = bytes.writeInt32BE(oid, at);
  if (values.length === 0) return bytes.subarray(0, at);
  at = bytes.writeInt32BE(values.length, at);
  at = bytes.writeInt32BE(1, at); // lower bound
  for (const [i, value] of values.entries()) {
    at = bytes.writeInt32BE(lengths[i] ?? -1, at);
    if (value !== null) at += written(() => write(bytes, value, at), lengths[i]!);
  }
  return bytes;
}

/** A value that cannot be encoded fails like one that the server refuses: in a batch, it must fail alone. */
function written(write: () => number, length: number): number {
  try {
    if (write() === length) return length;
  } catch (error) {
    throw Object.assign(new Error("a value cannot be sent to PostgreSQL", { cause: error }), { code: "22003" });
  }
  throw Object.assign(new Error("a value is malformed"), { code: "22P03" });
}
