/** A scripted webhook receiver: an HTTP or HTTPS server that records requests and answers according to its script. */
import { EventEmitter } from "node:events";
import http, { type IncomingMessage, type ServerResponse } from "node:http";
import https from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { patienceMs } from "./wait.ts";

export type Received = {
  path: string;
  headers: Record<string, string>;
  /** The unparsed body. */
  body: string;
  event: { id: string; type: string; emailId: string; metadata: Record<string, string> } & Record<string, unknown>;
  /** How often this event has been posted to this path, including this time. */
  seen: number;
  connection: number;
};

/**
 * How to react to a request. A number is a status with an empty body. `hang` never answers, `close` closes the connection without
 * a response, `drip-head` and `drip-body` send bytes slowly and never finish, `break-off` ends in the middle of a body,
 * `rubbish` sends something that is not HTTP, `upgrade` switches to another protocol. `raw` is sent as it is.
 */
export type Reaction =
  | number
  | "hang"
  | "close"
  | "drip-head"
  | "drip-body"
  | "break-off"
  | "rubbish"
  | "upgrade"
  | { status: number; headers?: Record<string, string>; body?: string | Buffer }
  | { raw: Buffer };

export type ReceiverScript = (request: Received) => Reaction | Promise<Reaction>;

export type ReceiverOptions = {
  script?: ReceiverScript;
  tls?: { key: string; cert: string };
  host?: string;
  port?: number;
};

const dripMs = 10;

export class Receiver extends EventEmitter {
  readonly requests: Received[] = [];
  readonly connections = { opened: 0, open: 0 };
  /** May be replaced while the receiver runs. */
  script: ReceiverScript;
  readonly #server: http.Server;
  readonly #secure: boolean;
  readonly #host: string;
  readonly #port: number;
  readonly #sockets = new Map<Socket, number>();
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #seen = new Map<string, number>();

  constructor(options: ReceiverOptions = {}) {
    super();
    this.script = options.script ?? (() => 200);
    this.#host = options.host ?? "127.0.0.1";
    this.#port = options.port ?? 0;
    this.#secure = options.tls !== undefined;
    const handle = (request: IncomingMessage, response: ServerResponse) => void this.#handle(request, response);
    this.#server = options.tls ? https.createServer(options.tls, handle) : http.createServer(handle);
    this.#server.on(this.#secure ? "secureConnection" : "connection", (socket: Socket) => this.#welcome(socket));
    this.#server.on("tlsClientError", () => this.emit("change"));
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `${this.#secure ? "https" : "http"}://${this.#host}:${this.port}`;
  }

  listen(): Promise<this> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(this.#port, this.#host, () => resolve(this));
    });
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    for (const socket of this.#sockets.keys()) socket.destroy();
    await closed;
  }

  /** Closes idle connections, as servers do after some time. */
  closeIdle(): void {
    this.#server.closeIdleConnections();
  }

  at(path: string): Received[] {
    return this.requests.filter((request) => request.path === path);
  }

  /** Resolves when the condition holds. Checks it after every request, response and disconnect. */
  async until(what: string, condition: (receiver: this) => boolean, deadlineMs = patienceMs): Promise<void> {
    if (condition(this)) return;
    await new Promise<void>((resolve, reject) => {
      const check = () => {
        if (!condition(this)) return;
        finish();
        resolve();
      };
      const timer = setTimeout(() => {
        finish();
        reject(
          new Error(
            `the receiver waited ${deadlineMs} ms for ${what}; it has received ${this.requests.length} requests`,
          ),
        );
      }, deadlineMs);
      const finish = () => {
        clearTimeout(timer);
        this.off("change", check);
      };
      this.on("change", check);
    });
  }

  #welcome(socket: Socket): void {
    this.connections.opened += 1;
    this.connections.open += 1;
    this.#sockets.set(socket, this.connections.opened);
    socket.on("error", () => {});
    socket.on("close", () => {
      this.connections.open -= 1;
      this.#sockets.delete(socket);
      this.emit("change");
    });
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString("utf8");
    const received: Received = {
      path: request.url ?? "",
      headers: request.headers as Record<string, string>,
      body,
      event: JSON.parse(body),
      seen: 0,
      connection: this.#sockets.get(request.socket) ?? 0,
    };
    const seenKey = `${received.path} ${received.event.id}`;
    received.seen = (this.#seen.get(seenKey) ?? 0) + 1;
    this.#seen.set(seenKey, received.seen);
    this.requests.push(received);
    this.emit("change");
    this.#react(await this.script(received), response);
    this.emit("change");
  }

  #react(reaction: Reaction, response: ServerResponse): void {
    const socket = response.socket!;
    const drip = (text: string) => {
      const timer = setInterval(() => socket.write(text), dripMs);
      this.#timers.add(timer);
      socket.on("close", () => clearInterval(timer));
    };
    if (typeof reaction === "number") response.writeHead(reaction).end();
    else if (typeof reaction === "object" && "raw" in reaction) socket.end(reaction.raw);
    else if (typeof reaction === "object") response.writeHead(reaction.status, reaction.headers).end(reaction.body);
    else if (reaction === "close") socket.destroy();
    else if (reaction === "rubbish") socket.end("220 mx.there.test ESMTP\r\n");
    else if (reaction === "upgrade")
      socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n");
    else if (reaction === "break-off") socket.end("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf a");
    else if (reaction === "drip-head") {
      socket.write("HTTP/1.1 200 OK\r\nX-Slow: ");
      drip("x");
    } else if (reaction === "drip-body") {
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
      drip("x");
    }
  }
}

export function startReceiver(options: ReceiverOptions = {}): Promise<Receiver> {
  return new Receiver(options).listen();
}
