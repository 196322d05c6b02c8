/** Sends several statements to the server at once, so that they cost one round trip: `begin` and the statement after it. Used by sql.ts through
 * client.ts. node-postgres sends a statement only when the one before it is answered. */
import pg, { type FieldDef, type QueryResultRow, type Submittable } from "pg";

/** `name`: the statement is prepared once per connection. */
export type Step = { text: string; name?: string; values?: readonly unknown[] };

type Rows = QueryResultRow[];
type Callback = (error: Error | null, rows?: Rows) => void;

/** Parts of node-postgres that its types do not have. */
type Connection = {
  /** The texts of the statements that the server has prepared, by name. */
  parsedStatements: Record<string, string>;
  stream: { cork(): void; uncork(): void };
  parse(statement: { text: string; name: string | undefined }): void;
  bind(values: { statement: string | undefined; values: unknown[] }): void;
  describe(portal: { type: "P" }): void;
  execute(): void;
  sync(): void;
  sendCopyFail(reason: string): void;
};
type RowReader = { rows: Rows; addFields(fields: FieldDef[]): void; parseRow(fields: unknown): QueryResultRow };
const { Result, utils } = pg as unknown as {
  Result: new () => RowReader;
  utils: { prepareValue(value: unknown): unknown };
};

/**
 * The rows are those of the last step. If a step fails, the server skips the later ones. There is no `Sync` between them, so steps without a
 * `begin` would be one transaction. The methods are those that node-postgres calls; it may replace `callback`.
 */
export class Exchange implements Submittable {
  callback: Callback;
  readonly query_timeout: number | undefined;
  readonly #steps: readonly Step[];
  readonly _result = new Result();
  /** How many steps are complete. */
  #done = 0;
  #fault: Error | undefined;

  constructor(steps: readonly Step[], callback: Callback, queryTimeoutMs?: number) {
    this.#steps = steps;
    this.callback = callback;
    this.query_timeout = queryTimeoutMs;
  }

  /** node-postgres notes the name and the text as prepared when the server has parsed them. */
  get name(): string | undefined {
    return this.#steps[this.#done]?.name;
  }

  get text(): string | undefined {
    return this.#steps[this.#done]?.text;
  }

  /** Returns an error if nothing was sent. */
  submit(to: unknown): Error | null {
    const connection = to as Connection;
    let values: unknown[][];
    try {
      values = this.#steps.map((step) => (step.values ?? []).map((value) => utils.prepareValue(value)));
    } catch (error) {
      return error as Error;
    }
    connection.stream.cork();
    try {
      this.#send(connection, values);
    } finally {
      connection.stream.uncork();
    }
    return null;
  }

  #send(connection: Connection, values: unknown[][]): void {
    for (const [i, { text, name }] of this.#steps.entries()) {
      if (name === undefined || connection.parsedStatements[name] === undefined) connection.parse({ text, name });
      connection.bind({ statement: name, values: values[i]! });
      if (i === this.#steps.length - 1) connection.describe({ type: "P" });
      connection.execute();
    }
    connection.sync();
  }

  handleRowDescription({ fields }: { fields: FieldDef[] }): void {
    this._result.addFields(fields);
  }

  handleDataRow({ fields }: { fields: unknown }): void {
    try {
      this._result.rows.push(this._result.parseRow(fields));
    } catch (error) {
      this.#fault ??= error as Error;
    }
  }

  handleCommandComplete(): void {
    this.#done++;
  }

  handleEmptyQuery(): void {
    this.#done++;
  }

  handleError(error: Error): void {
    this.callback(error);
  }

  handleReadyForQuery(): void {
    if (this.#fault) this.callback(this.#fault);
    else this.callback(null, this._result.rows);
  }

  handlePortalSuspended(): void {}
  handleCopyData(): void {}
  handleCopyInResponse(connection: Connection): void {
    connection.sendCopyFail("no data follows");
  }
}
