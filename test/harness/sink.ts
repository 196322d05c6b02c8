/** An SMTP server for tests that misbehaves on cue and records all that it was told and all that it said. It shares no code with Posthorn. */
import { EventEmitter } from "node:events";
import { readFileSync } from "node:fs";
import net from "node:net";
import tls from "node:tls";
import { SinkConnection } from "./sink-connection.ts";
import { patienceMs } from "./wait.ts";

/** A moment at which the script may step in. `dot` comes after the whole message, `bytes` with each chunk of it. */
export interface Step {
  verb: string;
  /** The command as it was sent. */
  line: string;
  /** Numbered from 1 in the order of connecting. */
  connection: number;
  /** Transactions begun on this connection, this one included. */
  transaction: number;
  secure: boolean;
  from: string;
  /** The address of this RCPT, or of the first recipient taken so far. */
  recipient: string;
  recipients: readonly string[];
  /** How often this verb came for this recipient (or at all, where there is none), this time included. */
  seen: number;
  /** At `bytes` and `dot`: how much of the message has come. */
  received: number;
}

/** What to do in place of the usual answer. A string is a reply, with line breaks where it has several lines. */
export type Action =
  | string
  | "close"
  | "reset"
  | "silence"
  | {
      reply?: string;
      /** Bytes sent as they are, before any reply. */
      raw?: string | Buffer;
      /** Send the reply one byte at a time, this far apart. */
      dripMs?: number;
      /** `rubbish` answers the next bytes, a TLS handshake say, with words. */
      after?: "close" | "reset" | "pause" | "upgrade" | "rubbish" | "go on";
    };

export type Script = (step: Step) => Action | undefined;

export interface SinkOptions {
  script?: Script;
  /** EHLO keywords; STARTTLS and AUTH are added by the options below. */
  extensions?: readonly string[];
  tls?: { key: string; cert: string };
  /** TLS from the first byte. */
  implicitTls?: boolean;
  auth?: { user: string; password: string; mechanisms?: string };
  /** False for benches: deliveries are counted, their bytes are not kept and replies and commands not recorded. */
  record?: boolean;
  host?: string;
  port?: number;
}

/** One DATA, whole or not. */
export interface Delivery {
  connection: number;
  transaction: number;
  secure: boolean;
  helo: string;
  user: string;
  from: string;
  /** MAIL FROM's parameters, such as SIZE=1234. */
  parameters: readonly string[];
  /** The recipients that were taken. */
  recipients: readonly string[];
  /** The bytes between 354 and the final dot, as sent. */
  raw: Buffer;
  /** The same with the dots taken out again. */
  data: Buffer;
  /** The final dot was seen. */
  complete: boolean;
  /** What was said to the final dot; empty when nothing was. */
  reply: string;
}

export const usualExtensions = ["PIPELINING", "SIZE 52428800", "8BITMIME", "SMTPUTF8", "ENHANCEDSTATUSCODES"];

export class Sink extends EventEmitter {
  readonly deliveries: Delivery[] = [];
  readonly commands: { connection: number; line: string; secure: boolean }[] = [];
  readonly replies: { connection: number; verb: string; line: string }[] = [];
  readonly connections = { opened: 0, open: 0, peak: 0 };
  readonly options: SinkOptions;
  readonly secureContext: tls.SecureContext | undefined;
  /** May be replaced while the sink runs. */
  script: Script;
  /** Complete messages answered with 2xx, kept or not. */
  accepted = 0;
  readonly #server: net.Server;
  readonly #live = new Set<SinkConnection>();
  readonly #sockets = new Set<net.Socket>();
  readonly #seen = new Map<string, number>();

  constructor(options: SinkOptions = {}) {
    super();
    this.options = options;
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

  /** The messages that were taken for an address, in order. */
  received(address: string): Delivery[] {
    return this.deliveries.filter(({ complete, reply, recipients }) => {
      return complete && reply.startsWith("2") && recipients.includes(address);
    });
  }

  /** Closes every connection, as a server does with those that have long said nothing. */
  hangUp(): void {
    for (const socket of this.#sockets) socket.end();
  }

  /** Lets connections read on that an action had paused. */
  release(): void {
    for (const connection of this.#live) connection.resume();
  }

  /** Resolves when the condition holds; it is looked at after everything that happens here. */
  async until(condition: (sink: this) => boolean, deadlineMs = patienceMs): Promise<void> {
    if (condition(this)) return;
    await new Promise<void>((resolve, reject) => {
      const look = () => {
        if (condition(this)) finish(resolve);
      };
      const timer = setTimeout(
        () => finish(() => reject(new Error(`the sink waited ${deadlineMs} ms in vain`))),
        deadlineMs,
      );
      const finish = (end: () => void) => {
        clearTimeout(timer);
        this.off("change", look);
        end();
      };
      this.on("change", look);
    });
  }

  /** How often this came before, this time included. */
  count(verb: string, recipient: string): number {
    const key = `${verb} ${recipient.toLowerCase()}`;
    const times = (this.#seen.get(key) ?? 0) + 1;
    this.#seen.set(key, times);
    return times;
  }

  /** A connection has ended: told by the socket, or by the connection itself when it says goodbye first. */
  left(connection: SinkConnection): void {
    if (!this.#live.delete(connection)) return;
    this.connections.open -= 1;
    connection.keep();
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

/** The first script with an opinion decides. */
export function scripts(...list: readonly Script[]): Script {
  return (step) => {
    for (const script of list) {
      const action = script(step);
      if (action !== undefined) return action;
    }
    return undefined;
  };
}

/** Steps in at one verb only; a function may look at the step. */
export function on(verb: string, action: Action | ((step: Step) => Action | undefined)): Script {
  return (step) => (step.verb !== verb ? undefined : typeof action === "function" ? action(step) : action);
}

/** Answers RCPT by address, or by mailbox name. */
export function byRecipient(answers: Readonly<Record<string, Action>>): Script {
  return on("rcpt", ({ recipient }) => answers[recipient] ?? answers[recipient.slice(0, recipient.lastIndexOf("@"))]);
}

/** Refuses each recipient a number of times before taking it. */
export function greylist(times = 1, reply = "451 4.7.1 Greylisted, please try again later"): Script {
  return on("rcpt", ({ seen }) => (seen <= times ? reply : undefined));
}

const fixture = (name: string) => readFileSync(new URL(`../fixtures/tls/${name}`, import.meta.url), "utf8");

/** A certificate for mx.example.test, localhost and 127.0.0.1, and the authority that signed it. */
export function testCertificate(): { key: string; cert: string; ca: string } {
  return { key: fixture("mx.key"), cert: fixture("mx.pem"), ca: fixture("ca.pem") };
}
