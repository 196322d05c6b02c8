/**
 * SQL statements as tagged templates over node-postgres: every value becomes a parameter, templates nest, and each text is
 * prepared once per connection. pool.ts creates the tag and passes it to every store. `textArray` encodes long text parameters.
 */
import type { Client, Pool, PoolClient } from "pg";
import { createListening, type NotificationListener } from "./listening.ts";
import { currentWriteCheck, passWriteCheck } from "./write-check.ts";

export type Row = Record<string, unknown>;

/** Runs once, when it is first awaited. Nested in another template, it becomes part of that statement and does not run itself. */
export class Statement<T> implements PromiseLike<T> {
  readonly strings: readonly string[];
  readonly values: readonly unknown[];
  readonly #run: (text: string, values: unknown[]) => Promise<T>;
  #result: Promise<T> | undefined;

  constructor(
    strings: readonly string[],
    values: readonly unknown[],
    run: (text: string, values: unknown[]) => Promise<T>,
  ) {
    this.strings = strings;
    this.values = values;
    this.#run = run;
  }

  // biome-ignore lint/suspicious/noThenProperty: a statement is awaited like a promise
  then<A = T, B = never>(
    done?: ((value: T) => A | PromiseLike<A>) | null,
    failed?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#once().then(done, failed);
  }

  catch<B = never>(failed?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<T | B> {
    return this.#once().catch(failed);
  }

  #once(): Promise<T> {
    if (!this.#result) {
      const values: unknown[] = [];
      this.#result = this.#run(render(this, values), values);
    }
    return this.#result;
  }
}

export interface Sql {
  <T extends readonly object[] = Row[]>(strings: TemplateStringsArray, ...values: unknown[]): Statement<T>;
  /** Runs `work` in one transaction; statements of the `sql` it gets are part of that transaction. */
  begin<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
  /** Runs long work on one connection without time limits, then closes the connection, which ends its settings and locks. */
  session<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
  /** Runs a text without parameters, which may contain several statements. It must not contain input from outside. */
  unsafe<T extends readonly object[] = Row[]>(text: string): Statement<T>;
  /** Calls `listener` for every notification on a channel. All channels share one connection outside the pool. */
  listen(channel: string, listener: NotificationListener): Promise<{ unlisten(): Promise<void> }>;
  notify(notifications: readonly { channel: string; payload: string }[]): Promise<void>;
  /** Resolves when the server answers on the listening connection, so that a pool with only busy connections is not an outage. */
  ping(withinMs: number): Promise<void>;
  end(): Promise<void>;
  /** For a library with its own statements (better-auth). Our code uses the template. */
  readonly pool: Pool;
}

export type SqlDeps = {
  pool: Pool;
  /** Opens the connection for LISTEN and pings. */
  connect(): Promise<Client>;
};

/** A lost connection, as an error with a code that `isDatabaseAway` recognizes. */
export class ConnectionLost extends Error {
  readonly code = "CONNECTION_LOST";
}

export function createSql({ pool, connect }: SqlDeps): Sql {
  const names = createNames();
  const query = async (client: Pool | PoolClient, text: string, values: unknown[], limit?: object): Promise<Row[]> => {
    try {
      const named = values.length > 0 ? { name: names.of(text), values } : {};
      const result = await client.query({ text, ...named, ...limit });
      // A text with several statements returns a list of results; the caller gets the rows of the last one.
      return Array.isArray(result) ? result.at(-1).rows : result.rows;
    } catch (error) {
      // A newer program's migration added a column to a `select *`. A new name makes every connection prepare the statement again.
      if (isStalePlan(error) && names.renew(text) && client === pool) return await query(client, text, values, limit);
      throw withCode(error);
    }
  };

  function createTag(client: Pool | PoolClient, extra: Omit<Sql, "unsafe">, limit?: object): Sql {
    const run = <T>(text: string, values: unknown[]) =>
      (client === pool && currentWriteCheck()
        ? queryChecked(text, values)
        : query(client, text, values, limit)) as Promise<T>;
    const tag = <T extends readonly object[]>(strings: TemplateStringsArray, ...values: unknown[]) =>
      new Statement<T>(strings, values, run);
    return Object.assign(tag, extra, {
      unsafe: <T extends readonly object[]>(text: string) => new Statement<T>([text], [], run),
    }) as Sql;
  }

  /** Throws without sending anything if the call for which this code runs may no longer write. */
  async function acquire(): Promise<PoolClient> {
    const client = await pool.connect().catch((error) => {
      throw withCode(error);
    });
    try {
      passWriteCheck();
    } catch (error) {
      client.release();
      throw error;
    }
    return client;
  }

  /** Like a query of the pool, but with a check between the wait for a connection and the statement. */
  async function queryChecked(text: string, values: unknown[]): Promise<Row[]> {
    const client = await acquire();
    let failed: Error | undefined;
    try {
      return await query(client, text, values);
    } catch (error) {
      failed = error as Error;
      if (!isStalePlan(error)) throw error;
    } finally {
      client.release(failed);
    }
    return await query(pool, text, values);
  }

  /** Calls `ended` with true when the connection must not be used again. */
  async function transact<T>(
    client: PoolClient,
    work: (sql: Sql) => Promise<T>,
    ended: (broken: boolean) => void,
    limit?: object,
  ): Promise<T> {
    let broken = true;
    // When the server ends an idle transaction, its error arrives between two statements, and the next one fails with "not queryable".
    let idleTimeout: Error | undefined;
    const noteIdleTimeout = (error: Error) => {
      if ((error as { code?: string }).code === "25P03") idleTimeout = error;
    };
    client.on("error", noteIdleTimeout);
    try {
      await query(client, "begin", []);
      const result = await work(createTag(client, { ...inTransaction, pool }, limit));
      await query(client, "commit", []);
      broken = false;
      return result;
    } catch (error) {
      // A connection that cannot roll back is closed, so that nothing of this transaction leaks into the next one.
      broken = await query(client, "rollback", []).then(
        () => false,
        () => true,
      );
      throw idleTimeout ?? error;
    } finally {
      client.off("error", noteIdleTimeout);
      ended(broken);
    }
  }

  async function begin<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    const client = await acquire();
    return await transact(client, work, (broken) => client.release(broken));
  }

  async function session<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    const client = await acquire();
    const limit = { query_timeout: sessionQueryTimeoutMs };
    const beginHere = <R>(inner: (sql: Sql) => Promise<R>) => transact(client, inner, () => {}, limit);
    try {
      // After a power loss the client sends no FIN. Without this timeout the server would keep the session's locks for hours.
      await query(client, "set statement_timeout = 0; set lock_timeout = 0; set idle_session_timeout = '60s'", []);
      return await work(createTag(client, { ...inTransaction, pool, begin: beginHere }, limit));
    } finally {
      client.release(true);
    }
  }

  const listening = createListening(connect);
  return createTag(pool, {
    begin,
    session,
    listen: listening.listen,
    async notify(notifications) {
      // A notification needs no durability. Without this setting its commit would wait for a WAL flush.
      const text =
        "select set_config('synchronous_commit', 'off', true), pg_notify(channel, payload) from unnest($1::text[], $2::text[]) as n(channel, payload)";
      await query(pool, text, [
        notifications.map(({ channel }) => channel),
        notifications.map(({ payload }) => payload),
      ]);
    },
    ping: listening.ping,
    async end() {
      await listening.close();
      await pool.end();
    },
    pool,
  } as Omit<Sql, "unsafe">);
}

/** node-postgres cannot switch the pool's query_timeout off for one query, so a session uses a very long one. */
const sessionQueryTimeoutMs = 7 * 86_400_000;

const inTransaction = {
  begin: () => Promise.reject(new Error("begin is not available inside a transaction")),
  session: () => Promise.reject(new Error("session is not available inside a transaction")),
  listen: () => Promise.reject(new Error("listen is not available inside a transaction")),
  notify: () => Promise.reject(new Error("notify is not available inside a transaction")),
  ping: () => Promise.reject(new Error("ping is not available inside a transaction")),
  end: () => Promise.reject(new Error("end is not available inside a transaction")),
};

/** Joins nested templates into one text and numbers their parameters. */
function render(statement: Statement<unknown>, values: unknown[]): string {
  let text = statement.strings[0]!;
  for (const [i, value] of statement.values.entries()) {
    if (value instanceof Statement) text += render(value, values);
    else text += `$${values.push(value)}`;
    text += statement.strings[i + 1]!;
  }
  return text;
}

/**
 * Names for prepared statements. The program has few distinct texts; beyond 500 they stay unnamed, because a text that is
 * generated for each call would fill the server's memory with prepared statements.
 */
function createNames() {
  const names = new Map<string, string>();
  let count = 0;
  const assign = (text: string) => {
    const name = `s${++count}`;
    names.set(text, name);
    return name;
  };
  return {
    of: (text: string): string | undefined => names.get(text) ?? (names.size < 500 ? assign(text) : undefined),
    /** Gives the text a new name; false when it has none. */
    renew: (text: string): boolean => names.has(text) && assign(text) !== undefined,
  };
}

function isStalePlan(error: unknown): boolean {
  const { code, message } = error as { code?: string; message?: string };
  return code === "0A000" && message === "cached plan must not change result type";
}

/** node-postgres reports connection failures with a message and no code; this adds the code. */
export function withCode(error: unknown): unknown {
  if (
    error instanceof Error &&
    (error as { code?: string }).code === undefined &&
    connectionLostPattern.test(error.message)
  )
    return new ConnectionLost(error.message, { cause: error });
  return error;
}

const connectionLostPattern =
  /connection terminated|timeout exceeded when trying to connect|connection timeout|not queryable|client was closed|query read timeout|cannot use a pool after/i;

const textOid = 25;

/**
 * Encodes texts as one parameter in PostgreSQL's binary format of text[]. The text format would be quoted here, unquoted by the
 * server, and copied five times in between. Used for email content, which is most of the data sent to the database.
 */
export function textArray(texts: readonly string[]): Buffer {
  const lengths = texts.map((text) => Buffer.byteLength(text));
  const bytes = Buffer.allocUnsafe(20 + lengths.reduce((sum, length) => sum + 4 + length, 0));
  // An empty array has no dimensions.
  let at = bytes.writeInt32BE(texts.length === 0 ? 0 : 1, 0);
  at = bytes.writeInt32BE(0, at); // no nulls
  at = bytes.writeInt32BE(textOid, at);
  if (texts.length === 0) return bytes.subarray(0, at);
  at = bytes.writeInt32BE(texts.length, at);
  at = bytes.writeInt32BE(1, at); // lower bound
  for (const [i, text] of texts.entries()) {
    at = bytes.writeInt32BE(lengths[i]!, at);
    at += bytes.write(text, at);
  }
  return bytes;
}
