/**
 * SQL statements as tagged templates over node-postgres: every value becomes a parameter, templates nest, and each text is
 * prepared once per connection. pool.ts creates the tag and passes it to every store. arrays.ts encodes long parameters.
 */
import { randomUUID } from "node:crypto";
import type { Client, Pool, PoolClient } from "pg";
import { currentCall, noteCommitted, noteCommitting, outsideCalls, passWriteCheck } from "./call-scope.ts";
import type { Client as OurClient } from "./client.ts";
import { createConnectionShare } from "./connection-share.ts";
import { copyOut } from "./copy-out.ts";
import type { DatabaseHealth } from "./health.ts";
import type { Hosts } from "./hosts.ts";
import { createListening, type NotificationListener } from "./listening.ts";
import { ConnectionLost, endsConnection, mayWrite, NotReplicated, withCode } from "./lost-connection.ts";
import { OutcomeUnknown } from "./outage.ts";
import { commitText, lookUpReceipt, type ReceiptRule } from "./receipts.ts";
import { createNames } from "./statement-names.ts";

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
  /**
   * A statement that writes for a caller, as a transaction of its own. If the connection is lost, the program finds out whether the
   * write is stored (receipts.ts): a stored one succeeds, and only an outcome that cannot be found out rejects with OutcomeUnknown.
   * Loops that repeat their work anyway use the plain template, which saves two round trips.
   */
  write<T extends readonly object[] = Row[]>(strings: TemplateStringsArray, ...values: unknown[]): Statement<T>;
  /**
   * Runs `work` in one transaction; statements of the `sql` it gets are part of that transaction. A lost commit is looked up like a
   * `write`, unless the transaction runs on a database that may have no tables yet (`receipt: "never"`). Inside a transaction, `work`
   * joins it: if `work` fails, only its own statements are undone.
   */
  begin<T>(work: (sql: Sql) => Promise<T>, options?: { receipt?: ReceiptRule }): Promise<T>;
  /** Runs long work on one connection without time limits, then closes the connection, which ends its settings and locks. */
  session<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
  /** Runs a text without parameters, which may contain several statements. It must not contain input from outside. */
  unsafe<T extends readonly object[] = Row[]>(text: string): Statement<T>;
  /** Reads octets: the values of one bytea column. The text is a `copy … to stdout (format binary)`, which can have no parameters. It must not
   * contain input from outside. Statements with bytea columns would return them slowly (copy-out.ts). */
  octets(text: string): Promise<Buffer[]>;
  /** Calls `listener` for every notification on a channel. All channels share one connection outside the pool. */
  listen(channel: string, listener: NotificationListener): Promise<{ unlisten(): Promise<void> }>;
  notify(notifications: readonly { channel: string; payload: string }[]): Promise<void>;
  /** Resolves when the server answers on the listening connection, so that a pool with only busy connections is not an outage. */
  ping(withinMs: number): Promise<void>;
  end(): Promise<void>;
  /** How many statements wait for a connection: for a free one, or for the share of their workspace. */
  waiting(): number;
  /** For tests and diagnostics. Our code uses the template. */
  readonly pool: Pool;
  /** What is wrong with the database, as seen by the statements of this process. */
  readonly health: DatabaseHealth;
  /** The servers of DATABASE_URL. */
  readonly hosts: Hosts;
}

export type SqlDeps = {
  pool: Pool;
  health: DatabaseHealth;
  hosts: Hosts;
  /** Opens the connection for LISTEN and pings. */
  connect(): Promise<Client>;
};

export function createSql({ pool, health, hosts, connect }: SqlDeps): Sql {
  const names = createNames();
  /** Connections that must not be used again. */
  const lost = new WeakSet<PoolClient>();
  const share = createConnectionShare(pool.options.max);
  const waiting = () => pool.waitingCount + share.waiting();
  /** Gives the place of a connection in use back to its owner's share. */
  const places = new WeakMap<PoolClient, () => void>();

  /** `isLost`: the connection must not be used again. */
  function release(client: PoolClient, isLost = lost.has(client)): void {
    client.release(isLost);
    places.get(client)?.();
    places.delete(client);
  }

  const query = async (client: PoolClient, text: string, values: unknown[], limit?: object): Promise<Row[]> => {
    try {
      const named = values.length > 0 ? { name: names.of(text), values } : {};
      const result = await client.query({ text, ...named, ...limit });
      // A text with several statements returns a list of results; the caller gets the rows of the last one.
      return Array.isArray(result) ? result.at(-1).rows : result.rows;
    } catch (error) {
      // A newer program's migration added a column to a `select *`. A new name makes every connection prepare the statement again.
      if (isStalePlan(error)) names.renew(text);
      throw noted(client, error);
    }
  };

  /** Begins a transaction with its first statement. */
  const beginWith = async (client: PoolClient, text: string, values: unknown[]): Promise<Row[]> => {
    try {
      const first = { text, name: names.of(text), values };
      return await (client as PoolClient & Pick<OurClient, "exchange">).exchange([begin, first]);
    } catch (error) {
      if (isStalePlan(error)) names.renew(text);
      throw noted(client, error);
    }
  };

  const octets = (client: PoolClient, text: string): Promise<Buffer[]> =>
    copyOut(client, text).catch((error) => {
      throw noted(client, error);
    });

  function noted(client: PoolClient, error: unknown): unknown {
    const coded = withCode(error);
    if (endsConnection(coded)) lost.add(client);
    health.note(coded);
    return coded;
  }

  /** Throws without sending anything if the call for which this code runs may no longer write. */
  async function acquire(): Promise<PoolClient> {
    const giveBack = await share.take();
    const client = await pool.connect().catch((error: Error) => {
      giveBack();
      // The pool has one message for two causes. When all its connections are open, it waited for one of them.
      const exhausted = /timeout exceeded/.test(error.message) && pool.totalCount >= pool.options.max;
      const coded = exhausted ? new ConnectionLost(error, "POOL_EXHAUSTED") : withCode(error);
      health.note(coded);
      throw coded;
    });
    places.set(client, giveBack);
    try {
      passWriteCheck();
    } catch (error) {
      release(client);
      throw error;
    }
    return client;
  }

  /** One statement on any connection. A write whose answer is lost may be stored or not: such a write is for loops, which repeat it. */
  async function runAlone(text: string, values: unknown[]): Promise<Row[]> {
    const client = await acquire();
    try {
      return await preparedAgain(() => query(client, text, values));
    } catch (error) {
      const isInDoubt = error instanceof NotReplicated || (lost.has(client) && mayWrite(text));
      throw isInDoubt ? new OutcomeUnknown(error) : error;
    } finally {
      release(client);
    }
  }

  async function octetsAlone(text: string): Promise<Buffer[]> {
    const client = await acquire();
    try {
      return await octets(client, text);
    } finally {
      release(client);
    }
  }

  async function writeAlone(text: string, values: unknown[]): Promise<Row[]> {
    return await preparedAgain(async () => {
      const client = await acquire();
      return await transact(client, () => beginWith(client, text, values), { receipt: "always", begins: true });
    });
  }

  type Run = (text: string, values: unknown[]) => Promise<Row[]>;

  function createTag(run: Run, write: Run, extra: Omit<Sql, "unsafe" | "write">): Sql {
    const tagFor =
      (how: Run) =>
      <T extends readonly object[]>(strings: TemplateStringsArray, ...values: unknown[]) =>
        new Statement<T>(strings, values, how as (text: string, values: unknown[]) => Promise<never>);
    return Object.assign(tagFor(run), extra, {
      write: tagFor(write),
      unsafe: <T extends readonly object[]>(text: string) =>
        new Statement<T>([text], [], run as (text: string, values: unknown[]) => Promise<never>),
    }) as Sql;
  }

  /** `begins`: the work begins the transaction. */
  type TransactOptions = { receipt: ReceiptRule; limit?: object; keepClient?: boolean; begins?: boolean };

  /** Releases the connection at the end, before a look-up, unless it belongs to a session. */
  async function transact<T>(
    client: PoolClient,
    work: (sql: Sql, run: Run) => Promise<T>,
    { receipt, limit, keepClient, begins }: TransactOptions,
  ): Promise<T> {
    const id = randomUUID();
    let committing = false;
    let result: T;
    // When the server ends an idle transaction, its error arrives between two statements, and the next one fails with "not queryable".
    let idleTimeout: Error | undefined;
    const noteIdleTimeout = (error: Error) => {
      if ((error as { code?: string }).code === "25P03") idleTimeout = error;
    };
    client.on("error", noteIdleTimeout);
    const run: Run = (text, values) => query(client, text, values, limit);
    try {
      if (!begins) await query(client, "begin", []);
      const joined = async <R>(inner: (sql: Sql) => Promise<R>): Promise<R> => {
        await query(client, "savepoint joined", []);
        try {
          const value = await inner(tx);
          await query(client, "release savepoint joined", []);
          return value;
        } catch (error) {
          // On a failure the next statement of the transaction fails too, and the first error says more.
          if (!lost.has(client))
            await query(client, "rollback to savepoint joined; release savepoint joined", []).catch(() => {});
          throw error;
        }
      };
      const octetsHere = (text: string) => octets(client, text);
      const tx: Sql = createTag(run, run, {
        ...inTransaction,
        pool,
        health,
        hosts,
        waiting,
        begin: joined,
        octets: octetsHere,
      });
      result = await work(tx, run);
      committing = true;
      noteCommitting();
      await query(client, commitText(receipt, id), []);
    } catch (error) {
      // A connection that cannot roll back is closed, so that nothing of this transaction leaks into the next one.
      if (!lost.has(client)) await query(client, "rollback", []).catch(() => lost.add(client));
      if (!committing || receipt === "never" || !endsConnection(error)) throw idleTimeout ?? error;
      finish();
      // The look-up must not wait for the share of its workspace: its caller needs the true result.
      const acquireFree = () => outsideCalls(acquire);
      const stored = await lookUpReceipt({ id, acquire: acquireFree, withinMs: currentCall()?.timeLeftMs() });
      if (stored === undefined) throw new OutcomeUnknown(error);
      if (!stored) throw error;
      // The receipt was found, so the transaction committed with this result.
      result = result!;
    } finally {
      finish();
    }
    noteCommitted();
    return result;

    function finish(): void {
      client.off("error", noteIdleTimeout);
      if (!keepClient) release(client);
      keepClient = true;
    }
  }

  async function transaction<T>(
    work: (sql: Sql) => Promise<T>,
    { receipt = "if it writes" }: { receipt?: ReceiptRule } = {},
  ): Promise<T> {
    return await transact(await acquire(), work, { receipt });
  }

  async function session<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    const client = await acquire();
    const limit = { query_timeout: sessionQueryTimeoutMs };
    const beginHere = <R>(inner: (sql: Sql) => Promise<R>) =>
      transact(client, inner, { receipt: "never", limit, keepClient: true });
    const run: Run = (text, values) => query(client, text, values, limit);
    try {
      // After a power loss the client sends no FIN. Without this timeout the server would keep the session's locks for hours.
      await query(client, "set statement_timeout = 0; set lock_timeout = 0; set idle_session_timeout = '60s'", []);
      const octetsHere = (text: string) => octets(client, text);
      return await work(
        createTag(run, run, { ...inTransaction, pool, health, hosts, waiting, begin: beginHere, octets: octetsHere }),
      );
    } finally {
      release(client, true);
    }
  }

  const listening = createListening(connect);
  return createTag(runAlone, writeAlone, {
    begin: transaction,
    session,
    octets: octetsAlone,
    listen: listening.listen,
    async notify(notifications) {
      // A notification needs no durability. Without this setting its commit would wait for a WAL flush.
      const text =
        "select set_config('synchronous_commit', 'off', true), pg_notify(channel, payload) from unnest($1::text[], $2::text[]) as n(channel, payload)";
      await runAlone(text, [notifications.map(({ channel }) => channel), notifications.map(({ payload }) => payload)]);
    },
    ping: listening.ping,
    async end() {
      health.close();
      await listening.close();
      await pool.end();
      hosts.close();
    },
    pool,
    health,
    hosts,
    waiting,
  });
}

const begin = { text: "begin", name: "begin" };

/** node-postgres cannot switch the pool's query_timeout off for one query, so a session uses a very long one. */
const sessionQueryTimeoutMs = 7 * 86_400_000;

const inTransaction = {
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

/** Repeats a statement once that failed only because of its old plan. `query` has given it a new name. */
async function preparedAgain<T>(run: () => Promise<T>): Promise<T> {
  return await run().catch((error) => {
    if (!isStalePlan(error)) throw error;
    return run();
  });
}

function isStalePlan(error: unknown): boolean {
  const { code, message } = error as { code?: string; message?: string };
  return code === "0A000" && message === "cached plan must not change result type";
}

/**
 * For statements of a transaction that have one good plan for all values: a connection plans each of them once. Otherwise it plans six times
 * before it keeps a plan, and some at each call, up to 20 ms each with a year of partitions.
 */
export async function planOnce(tx: Sql): Promise<void> {
  await tx.unsafe("set local plan_cache_mode = force_generic_plan");
}

/** As PostgreSQL decides it: for the values of each call, if that looks better. */
export async function planEachTime(tx: Sql): Promise<void> {
  await tx.unsafe("set local plan_cache_mode = auto");
}

/**
 * A number of our code as part of the text. For the limit of a statement on a parent of many partitions: with a parameter, PostgreSQL expects
 * that a kept plan reads far more rows, and so plans each call, which takes longer than the call.
 */
export function constant(sql: Sql, value: number): Statement<Row[]> {
  return sql.unsafe(String(Math.trunc(value)));
}
