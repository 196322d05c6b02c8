/** An SMTP server for tests that misbehaves on request and records all commands and replies. It shares no code with Posthorn. */
import { EventEmitter } from "node:events";
import { readFileSync } from "node:fs";
import net from "node:net";
import tls from "node:tls";
import { SinkConnection } from "./sink-connection.ts";
import type { Delivery, Script, SinkOptions } from "./sink-script.ts";
import { patienceMs } from "./wait.ts";

export class Sink extends EventEmitter {
  readonly deliveries: Delivery[];
  readonly commands: { connection: number; line: string; secure: boolean }[] = [];
  readonly replies: { connection: number; verb: string; line: string }[] = [];
  readonly connections = { opened: 0, open: 0, peak: 0 };
  readonly options: SinkOptions;
  readonly secureContext: tls.SecureContext | undefined;
  /** May be replaced while the sink runs. */
  script: Script;
  /** Complete messages answered with 2xx, recorded or not. */
  accepted = 0;
  readonly #server: net.Server;
  readonly #live = new Set<SinkConnection>();
  readonly #sockets = new Set<net.Socket>();
  readonly #seen = new Map<string, number>();

  constructor(options: SinkOptions = {}) {
    super();
    this.options = options;
    this.deliveries = options.deliveries ?? [];
    this.script = options.script ?? (() => undefined);
    this.secureContext = options.tls && tls.createSecureContext(options.tls);
    this.#server = net.createServer({ noDelay: true }, (socket) => this.#welcome(socket));
  }

  get port(): number {
    return (this.#server.address() as net.AddressInfo).port;
  }

  listen(): Promise<this> {
    const { port = 0, host = "127.0.0.1" } = this.options;
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(port, host, () => resolve(this));
    });
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  /** The accepted messages for an address, in order. */
  received(address: string): Delivery[] {
    return this.deliveries.filter(({ complete, reply, recipients }) => {
      return complete && reply.startsWith("2") && recipients.includes(address);
    });
  }

  /** Closes every connection, as a server does with idle ones. */
  hangUp(): void {
    for (const socket of this.#sockets) socket.end();
  }

  /** Resumes the connections that an action paused. */
  release(): void {
    for (const connection of this.#live) connection.resume();
  }

  /** Resolves when the condition holds. Checks it after every step and disconnect. */
  async until(condition: (sink: this) => boolean, deadlineMs = patienceMs): Promise<void> {
    if (condition(this)) return;
    await new Promise<void>((resolve, reject) => {
      const check = () => {
        if (condition(this)) finish(resolve);
      };
      const timer = setTimeout(
        () => finish(() => reject(new Error(`the sink waited ${deadlineMs} ms; the condition did not become true`))),
        deadlineMs,
      );
      const finish = (end: () => void) => {
        clearTimeout(timer);
        this.off("change", check);
        end();
      };
      this.on("change", check);
    });
  }

  /** Counts this verb for this recipient and returns the count. */
  count(verb: string, recipient: string): number {
    const key = `${verb} ${recipient.toLowerCase()}`;
    const times = (this.#seen.get(key) ?? 0) + 1;
    this.#seen.set(key, times);
    return times;
  }

  /** Handles the end of a connection. Called by the socket's close event, or earlier by the connection when the sink closes it. */
  left(connection: SinkConnection): void {
    if (!this.#live.delete(connection)) return;
    this.connections.open -= 1;
    connection.storeReceived();
    this.changed();
  }

  changed(): void {
    this.emit("change");
  }

  #welcome(socket: net.Socket): void {
    this.connections.opened += 1;
    this.connections.open += 1;
    this.connections.peak = Math.max(this.connections.peak, this.connections.open);
    const connection = new SinkConnection(this, socket, this.connections.opened);
    this.#live.add(connection);
    this.#sockets.add(socket);
    socket.on("close", () => {
      this.#sockets.delete(socket);
      this.left(connection);
    });
    this.changed();
    connection.start();
  }
}

export function startSink(options: SinkOptions = {}): Promise<Sink> {
  return new Sink(options).listen();
}

const fixture = (name: string) => readFileSync(new URL(`../fixtures/tls/${name}`, import.meta.url), "utf8");

/** A certificate for mx.example.test, localhost and 127.0.0.1, and the authority that signed it. */
export function testCertificate(): { key: string; cert: string; ca: string } {
  return { key: fixture("mx.key"), cert: fixture("mx.pem"), ca: fixture("ca.pem") };
}
