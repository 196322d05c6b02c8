/**
 * A connection to PostgreSQL, for the pool and next to it. It differs from that of node-postgres in two ways: with several hosts it
 * connects to the primary (hosts.ts), and a commit whose wait for a synchronous standby was canceled fails. PostgreSQL reports such a commit
 * as a success with a warning, although it may be missing after a failover. Decision 61 has the reasons.
 */
import pg from "pg";
import type { HostAddress } from "./database-url.ts";
import { NotReplicated } from "./lost-connection.ts";

/** Opens the connection, to a host of the caller's choice. */
export type Route = (client: Client, open: () => Promise<void>) => Promise<void>;

type Connected = ((err: Error) => void) | ((err: null, c: pg.Client) => void);

/** The routine that waits for synchronous standbys. Messages are translated, the names of routines are not. */
const waitRoutine = "SyncRepWaitForLSN";

export class Client extends pg.Client {
  readonly #route: Route | undefined;
  #isUnreplicated = false;
  #isEnding = false;

  constructor(config: pg.ClientConfig = {}, route?: Route) {
    super(config);
    this.#route = route;
    // An error on a connection without a listener would end the process. Statements fail anyway.
    this.on("error", () => {});
    this.on("notice", (notice) => {
      if (notice.routine === waitRoutine) this.#isUnreplicated = true;
    });
    const query = this.query.bind(this) as (...args: unknown[]) => unknown;
    this.query = ((...args: unknown[]) => {
      const result = query(...args);
      return result instanceof Promise ? result.then((rows) => this.#requireReplicated(rows)) : result;
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
  #requireReplicated<T>(rows: T): T {
    if (!this.#isUnreplicated) return rows;
    this.#isUnreplicated = false;
    throw new NotReplicated();
  }
}
