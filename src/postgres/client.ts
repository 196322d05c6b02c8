/**
 * A connection to PostgreSQL, for the pool and next to it. It differs from that of node-postgres in three ways: with several hosts it
 * connects to the primary (hosts.ts); a commit whose wait for a synchronous standby was canceled fails, although PostgreSQL reports it as a
 * success with a warning; and a statement that runs into the client's time limit is canceled on the server. Decision 61 has the reasons.
 */
import pg from "pg";
import type { HostAddress } from "./database-url.ts";
import { Exchange, type Step } from "./exchange.ts";
import { NotReplicated, withCode } from "./lost-connection.ts";

/** Opens the connection, to a host of the caller's choice. */
export type Route = (client: Client, open: () => Promise<void>) => Promise<void>;

type Connected = ((err: Error) => void) | ((err: null, c: pg.Client) => void);

/** Parts of node-postgres that its types do not have. */
type Internals = {
  connection: Connection;
  ssl: unknown;
  /** The server identifies the session by these in a request to cancel. */
  processID: number | null;
  secretKey: number | null;
};
type Connection = pg.Connection & {
  connect(portOrPath: number | string, host?: string): void;
  requestSsl(): void;
  cancel(processId: number, secretKey: number): void;
};

const cancelWithinMs = 5_000;

/** The routine that waits for synchronous standbys. Messages are translated, the names of routines are not. */
const waitRoutine = "SyncRepWaitForLSN";

export class Client extends pg.Client {
  readonly #config: pg.ClientConfig;
  readonly #route: Route | undefined;
  #isUnreplicated = false;
  #isEnding = false;

  constructor(config: pg.ClientConfig = {}, route?: Route) {
    super(config);
    this.#config = config;
    this.#route = route;
    // An error on a connection without a listener would end the process. Statements fail anyway.
    this.on("error", () => {});
    this.on("notice", (notice) => {
      if (notice.routine === waitRoutine) this.#isUnreplicated = true;
    });
    const query = this.query.bind(this) as (...args: unknown[]) => unknown;
    this.query = ((...args: unknown[]) => {
      const result = query(...args);
      return result instanceof Promise ? result.then(this.#requireReplicated, this.#cancelLate) : result;
    }) as typeof this.query;
  }

  /** The pool uses the form with a callback. */
  override connect(): Promise<pg.Client>;
  override connect(callback: Connected): void;
  override connect(callback?: Connected): Promise<pg.Client> | undefined {
    const connecting = this.#open();
    if (!callback) return connecting;
    const done = callback as (error: Error | null, client?: pg.Client) => void;
    connecting.then(() => done(null, this), done);
    return undefined;
  }

  override end(): Promise<void>;
  override end(callback: (err: Error) => void): void;
  override end(callback?: (err: Error) => void): Promise<void> | void {
    this.#isEnding = true;
    return callback ? super.end(callback) : super.end();
  }

  /** Runs several statements in one round trip. Returns the rows of the last one. */
  exchange(steps: readonly Step[], queryTimeoutMs?: number): Promise<pg.QueryResultRow[]> {
    const { promise, resolve, reject } = Promise.withResolvers<pg.QueryResultRow[]>();
    this.query(new Exchange(steps, (error, rows) => (error ? reject(error) : resolve(rows!)), queryTimeoutMs));
    return promise.then(this.#requireReplicated, this.#cancelLate);
  }

  /** Chooses the host before the connection is opened. */
  aimAt(address: HostAddress): void {
    Object.assign(this, address);
    // For the password file.
    Object.assign((this as unknown as { connectionParameters: object }).connectionParameters, address);
  }

  /** Closes the connection without a goodbye. Statements in progress fail as on a lost connection. */
  abandon(): void {
    this.connection.stream.destroy();
  }

  async #open(): Promise<pg.Client> {
    const open = async () => {
      // The pool gives up a connection that takes too long, possibly before it has a host.
      if (this.#isEnding || this.connection.stream.destroyed) throw new Error("Connection terminated");
      await super.connect();
    };
    if (this.#route) await this.#route(this, open);
    else await open();
    return this;
  }

  /** PostgreSQL sends the warning before the end of the statement that committed. */
  #requireReplicated = <T>(rows: T): T => {
    if (!this.#isUnreplicated) return rows;
    this.#isUnreplicated = false;
    throw new NotReplicated();
  };

  /**
   * After the client's time limit the caller gives up the connection. A session that waits for a synchronous standby does not notice that,
   * and would stay until a standby returns: the sessions would use up the connections of the server.
   */
  #cancelLate = (error: unknown): never => {
    if ((withCode(error) as { code?: string }).code === "NO_ANSWER") this.#cancelOnServer();
    throw error;
  };

  /** A request to cancel needs no login, and so no free connection of the server. The secret key keeps it from reaching another session. */
  #cancelOnServer(): void {
    const { processID, secretKey } = this as unknown as Internals;
    if (processID === null || secretKey === null) return;
    const { connection, ssl } = new pg.Client(this.#config) as unknown as Internals;
    const send = () => connection.cancel(processID, secretKey);
    connection.once("connect", () => (ssl ? connection.requestSsl() : send()));
    connection.once("sslconnect", send);
    connection.on("error", () => {});
    const late = setTimeout(() => connection.stream.destroy(), cancelWithinMs);
    late.unref();
    connection.once("end", () => clearTimeout(late));
    if (this.host.startsWith("/")) connection.connect(`${this.host}/.s.PGSQL.${this.port}`);
    else connection.connect(this.port, this.host);
  }
}
