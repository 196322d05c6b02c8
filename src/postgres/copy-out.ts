/** Reads octets with COPY, because node-postgres decodes the columns of a query as UTF-8: octets would arrive as hexadecimal text, which takes
 * twice the bytes on the wire and five times the CPU time. Used by sql.ts. */
import type { Client, Submittable } from "pg";

/**
 * Runs `copy (select …) to stdout (format binary)` of one bytea column, and returns the values in order. The text cannot have parameters.
 * https://www.postgresql.org/docs/current/sql-copy.html#id-1.9.3.55.9.4
 */
export function copyOut(client: Pick<Client, "query">, text: string): Promise<Buffer[]> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer[]>();
  client.query(new CopyOut(text, (error, values) => (error ? reject(error) : resolve(values!))));
  return promise;
}

type Callback = (error: Error | null, values?: Buffer[]) => void;
type Message = { chunk: Buffer };
type Connection = { query(text: string): void; sendCopyFail(reason: string): void };

/** The methods are those that node-postgres calls; it may replace `callback`. */
class CopyOut implements Submittable {
  callback: Callback;
  readonly #text: string;
  readonly #values: Buffer[] = [];
  #fault: Error | undefined;

  constructor(text: string, callback: Callback) {
    this.#text = text;
    this.callback = callback;
  }

  submit(connection: unknown): void {
    (connection as Connection).query(this.#text);
  }

  /** The protocol sends one message per row, the first one with the header of the format. */
  handleCopyData({ chunk }: Message): void {
    const at =
      chunk.length >= signature.length && chunk.subarray(0, signature.length).equals(signature) ? headerBytes : 0;
    if (chunk.length < at + 2 || chunk.readInt16BE(at) === endOfData) return;
    const length = chunk.readInt32BE(at + 2);
    if (chunk.readInt16BE(at) !== 1 || length < 0 || chunk.length !== at + 6 + length) {
      this.#fault ??= new Error("COPY returned rows that do not consist of one value");
      return;
    }
    // A copy, because node-postgres reuses the memory of the chunk; not from Node's pool, so that it can be freed at once.
    const value = Buffer.allocUnsafeSlow(length);
    chunk.copy(value, 0, at + 6);
    this.#values.push(value);
  }

  handleError(error: Error): void {
    this.callback(error);
  }

  handleReadyForQuery(): void {
    if (this.#fault) this.callback(this.#fault);
    else this.callback(null, this.#values);
  }

  handleRowDescription(): void {}
  handleDataRow(): void {}
  handleCommandComplete(): void {}
  handleEmptyQuery(): void {}
  handlePortalSuspended(): void {}
  handleCopyInResponse(connection: Connection): void {
    connection.sendCopyFail("this statement only reads");
  }
}

const signature = Buffer.from("PGCOPY\n\xff\r\n\0", "latin1");
/** The signature, flags, and the length of an extension that no version has. */
const headerBytes = signature.length + 8;
const endOfData = -1;
