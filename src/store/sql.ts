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
  /** A text without parameters that nobody outside had a hand in; may hold several statements. */
  unsafe<T extends readonly object[] = Row[]>(text: string): Statement<T>;
  /** Calls back for every notice on a channel. All channels share one connection beside the pool's. */
  listen(channel: string, heard: Heard): Promise<{ unlisten(): Promise<void> }>;
  notify(notices: readonly { channel: string; words: string }[]): Promise<void>;
  end(): Promise<void>;
  /** For a library that brings statements of its own (better-auth); ours go through the template. */
  readonly pool: Pool;
}

export type SqlDeps = {
  pool: Pool;
  /** For listening. */
  connect(): Promise<Client>;
};

/** The message that a broken connection leaves, as an error with a code that `isDatabaseAway` knows. */
export class ConnectionLost extends Error {
  readonly code = "CONNECTION_LOST";
}

export function createSql({ pool, connect }: SqlDeps): Sql {
  const nameOf = createNames();
  const query = async (client: Pool | PoolClient, text: string, values: unknown[]) => {
    try {
      const result = await client.query(values.length > 0 ? { name: nameOf(text), text, values } : { text });
      // Several statements in one text give a list of results; the last one's rows are the answer.
      return Array.isArray(result) ? result.at(-1).rows : result.rows;
    } catch (error) {
      throw withCode(error);
    }
  };

  function speaking(client: Pool | PoolClient, extra: Omit<Sql, "unsafe">): Sql {
    const run = <T>(text: string, values: unknown[]) => query(client, text, values) as Promise<T>;
    const tag = <T extends readonly object[]>(strings: TemplateStringsArray, ...values: unknown[]) =>
      new Statement<T>(strings, values, run);
    return Object.assign(tag, extra, {
      unsafe: <T extends readonly object[]>(text: string) => new Statement<T>([text], [], run),
    }) as Sql;
  }

  async function begin<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    const client = await pool.connect().catch((error) => {
      throw withCode(error);
    });
    let broken = true;
    try {
      await query(client, "begin", []);
      const result = await work(speaking(client, { ...inTransaction, pool }));
      await query(client, "commit", []);
      broken = false;
      return result;
    } catch (error) {
      // A connection that cannot even roll back is thrown away: nothing of this transaction may reach another one.
      broken = await query(client, "rollback", []).then(
        () => false,
        () => true,
      );
      throw error;
    } finally {
      client.release(broken);
    }
  }

  const listening = createListening(connect);
  return speaking(pool, {
    begin,
    listen: listening.listen,
    async notify(notices) {
      // A hint need not reach the disk: without this it would wait for a flush, as any transaction with a number does.
      const text =
        "select set_config('synchronous_commit', 'off', true), pg_notify(channel, words) from unnest($1::text[], $2::text[]) as n(channel, words)";
      await query(pool, text, [notices.map(({ channel }) => channel), notices.map(({ words }) => words)]);
    },
    async end() {
      await listening.close();
      await pool.end();
    },
    pool,
  } as Omit<Sql, "unsafe">);
}

const inTransaction = {
  begin: () => Promise.reject(new Error("a transaction inside a transaction")),
  listen: () => Promise.reject(new Error("listening inside a transaction")),
  notify: () => Promise.reject(new Error("notify inside a transaction")),
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
function createNames(): (text: string) => string | undefined {
  const names = new Map<string, string>();
  return (text) => {
    const known = names.get(text);
    if (known || names.size >= 500) return known;
    const name = `s${names.size + 1}`;
    names.set(text, name);
    return name;
  };
}

/** node-postgres gives connection failures a sentence and no code. */
export function withCode(error: unknown): unknown {
  if (error instanceof Error && (error as { code?: string }).code === undefined && lostWords.test(error.message))
    return new ConnectionLost(error.message, { cause: error });
  return error;
}

const lostWords =
  /connection terminated|timeout exceeded when trying to connect|connection timeout|not queryable|client was closed|query read timeout|cannot use a pool after/i;
