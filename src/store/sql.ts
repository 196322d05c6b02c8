/** Statements as tagged templates over node-postgres: every value becomes a parameter, templates nest, and a text that recurs is
 * prepared once per connection. Only db.ts makes one of these; everybody else is handed it. */
import type { Client, Pool, PoolClient } from "pg";
import { createListening, type Heard } from "./listening.ts";

export type Row = Record<string, unknown>;

/** Runs when it is awaited, once; nested in another template, it is a piece of that one and never runs by itself. */
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
  /** All or nothing. The function's own `sql` speaks inside the transaction. */
  begin<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
  /** One connection for work that takes long: without time limits, closed afterwards, so that its settings and locks end with it. */
  session<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
  /** A text without parameters that nobody outside had a hand in; may hold several statements. */
  unsafe<T extends readonly object[] = Row[]>(text: string): Statement<T>;
  /** Calls back for every notice on a channel. All channels share one connection beside the pool's. */
  listen(channel: string, heard: Heard): Promise<{ unlisten(): Promise<void> }>;
  notify(notices: readonly { channel: string; words: string }[]): Promise<void>;
  /** Whether the server answers, on the connection that listens: a pool whose connections are all busy is not a server that is away. */
  ping(withinMs: number): Promise<void>;
  end(): Promise<void>;
  /** For a library that brings statements of its own (better-auth); ours go through the template. */
  readonly pool: Pool;
}

export type SqlDeps = {
  pool: Pool;
  /** For listening and pings. */
  connect(): Promise<Client>;
};

/** The message that a broken connection leaves, as an error with a code that `isDatabaseAway` knows. */
export class ConnectionLost extends Error {
  readonly code = "CONNECTION_LOST";
}

export function createSql({ pool, connect }: SqlDeps): Sql {
  const names = createNames();
  const query = async (client: Pool | PoolClient, text: string, values: unknown[], limit?: object): Promise<Row[]> => {
    try {
      const named = values.length > 0 ? { name: names.of(text), values } : {};
      const result = await client.query({ text, ...named, ...limit });
      // Several statements in one text give a list of results; the last one's rows are the answer.
      return Array.isArray(result) ? result.at(-1).rows : result.rows;
    } catch (error) {
      // A newer program's migration added a column to what `select *` gives. Under a new name it is prepared again, on every connection.
      if (isStalePlan(error) && names.renew(text) && client === pool) return await query(client, text, values, limit);
      throw withCode(error);
    }
  };

  function speaking(client: Pool | PoolClient, extra: Omit<Sql, "unsafe">, limit?: object): Sql {
    const run = <T>(text: string, values: unknown[]) => query(client, text, values, limit) as Promise<T>;
    const tag = <T extends readonly object[]>(strings: TemplateStringsArray, ...values: unknown[]) =>
      new Statement<T>(strings, values, run);
    return Object.assign(tag, extra, {
      unsafe: <T extends readonly object[]>(text: string) => new Statement<T>([text], [], run),
    }) as Sql;
  }

  async function take(): Promise<PoolClient> {
    return await pool.connect().catch((error) => {
      throw withCode(error);
    });
  }

  /** Calls `ended` with whether the connection is broken. */
  async function transact<T>(
    client: PoolClient,
    work: (sql: Sql) => Promise<T>,
    ended: (broken: boolean) => void,
    limit?: object,
  ): Promise<T> {
    let broken = true;
    // The server's word that it ended an idle transaction comes between two statements; the next statement only hears "not queryable".
    let idle: Error | undefined;
    const noteIdle = (error: Error) => {
      if ((error as { code?: string }).code === "25P03") idle = error;
    };
    client.on("error", noteIdle);
    try {
      await query(client, "begin", []);
      const result = await work(speaking(client, { ...inTransaction, pool }, limit));
      await query(client, "commit", []);
      broken = false;
      return result;
    } catch (error) {
      // A connection that cannot even roll back is thrown away: nothing of this transaction may reach another one.
      broken = await query(client, "rollback", []).then(
        () => false,
        () => true,
      );
      throw idle ?? error;
    } finally {
      client.off("error", noteIdle);
      ended(broken);
    }
  }

  async function begin<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    const client = await take();
    return await transact(client, work, (broken) => client.release(broken));
  }

  async function session<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    const client = await take();
    const limit = { query_timeout: longestMs };
    const beginHere = <R>(inner: (sql: Sql) => Promise<R>) => transact(client, inner, () => {}, limit);
    try {
      // A machine that loses its power sends no end: without a limit, the server would keep this session's locks for hours.
      await query(client, "set statement_timeout = 0; set lock_timeout = 0; set idle_session_timeout = '60s'", []);
      return await work(speaking(client, { ...inTransaction, pool, begin: beginHere }, limit));
    } finally {
      client.release(true);
    }
  }

  const listening = createListening(connect);
  return speaking(pool, {
    begin,
    session,
    listen: listening.listen,
    async notify(notices) {
      // A hint need not reach the disk: without this it would wait for a flush, as any transaction with a number does.
      const text =
        "select set_config('synchronous_commit', 'off', true), pg_notify(channel, words) from unnest($1::text[], $2::text[]) as n(channel, words)";
      await query(pool, text, [notices.map(({ channel }) => channel), notices.map(({ words }) => words)]);
    },
    ping: listening.ping,
    async end() {
      await listening.close();
      await pool.end();
    },
    pool,
  } as Omit<Sql, "unsafe">);
}

/** node-postgres takes a limit for each query, and no limit only where the pool has none. */
const longestMs = 7 * 86_400_000;

const inTransaction = {
  begin: () => Promise.reject(new Error("a transaction inside a transaction")),
  session: () => Promise.reject(new Error("a session inside a transaction")),
  listen: () => Promise.reject(new Error("listening inside a transaction")),
  notify: () => Promise.reject(new Error("notify inside a transaction")),
  ping: () => Promise.reject(new Error("a ping inside a transaction")),
  end: () => Promise.reject(new Error("end inside a transaction")),
};

/** Numbers the parameters through all nested templates. */
function render(statement: Statement<unknown>, values: unknown[]): string {
  let text = statement.strings[0]!;
  for (const [i, value] of statement.values.entries()) {
    if (value instanceof Statement) text += render(value, values);
    else text += `$${values.push(value)}`;
    text += statement.strings[i + 1]!;
  }
  return text;
}

/** Statements are few and recur; a text made anew each time would fill the server's memory, so after many they stay unnamed. */
function createNames() {
  const names = new Map<string, string>();
  let given = 0;
  const give = (text: string) => {
    const name = `s${++given}`;
    names.set(text, name);
    return name;
  };
  return {
    of: (text: string): string | undefined => names.get(text) ?? (names.size < 500 ? give(text) : undefined),
    /** False when the text has no name. */
    renew: (text: string): boolean => names.has(text) && give(text) !== undefined,
  };
}

function isStalePlan(error: unknown): boolean {
  const { code, message } = error as { code?: string; message?: string };
  return code === "0A000" && message === "cached plan must not change result type";
}

/** node-postgres gives connection failures a sentence and no code. */
export function withCode(error: unknown): unknown {
  if (error instanceof Error && (error as { code?: string }).code === undefined && lostWords.test(error.message))
    return new ConnectionLost(error.message, { cause: error });
  return error;
}

const lostWords =
  /connection terminated|timeout exceeded when trying to connect|connection timeout|not queryable|client was closed|query read timeout|cannot use a pool after/i;
