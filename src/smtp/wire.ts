/** One connection to an SMTP server: bytes out, replies in, a deadline on every wait. The client session talks through it. */
import net from "node:net";
import tls from "node:tls";
import type { Reply } from "../rules/outcome-evidence.ts";
import { ReplyReader } from "./reply.ts";

export type WireFailure =
  | { kind: "lost"; code: string; message: string }
  | { kind: "timeout"; message: string }
  | { kind: "protocol"; message: string }
  | { kind: "aborted"; message: string };

export class WireError extends Error {
  override readonly name = "WireError";
  readonly failure: WireFailure;
  constructor(failure: WireFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

type Waiter = {
  kind: "reply" | "drain" | "ready";
  resolve: (reply?: Reply) => void;
  reject: (error: WireError) => void;
};

export class Wire {
  /** The TCP socket; `#socket` is what is spoken through, TLS once it has been laid over it. */
  readonly #tcp: net.Socket;
  #socket: net.Socket;
  #reader = new ReplyReader();
  #replies: Reply[] = [];
  /** Replies owed to us. One more than that is a server that talks out of turn. */
  #owed = 1;
  #waiter: Waiter | undefined;
  #timer: NodeJS.Timeout | undefined;
  #deadline: NodeJS.Timeout | undefined;
  #failure: WireFailure | undefined;
  #unlisten: () => void;
  /** Where the connection starts from. */
  localAddress = "";
  /** Called once, when the connection is no longer usable for whatever reason. */
  onDown: (() => void) | undefined;

  private constructor(socket: net.Socket) {
    this.#tcp = socket;
    this.#socket = socket;
    this.#unlisten = this.#listen(socket);
  }

  static async connect(options: net.TcpNetConnectOpts, timeoutMs: number, signal?: AbortSignal): Promise<Wire> {
    // One write per group of commands, so Nagle would only hold the next group back.
    const socket = net.connect({ ...options, noDelay: true, autoSelectFamily: false });
    const wire = new Wire(socket);
    socket.once("connect", () => wire.#wake("ready"));
    const release = wire.bind(signal);
    try {
      await wire.#wait("ready", timeoutMs, `no connection within ${timeoutMs} ms`);
    } finally {
      release();
    }
    wire.localAddress = socket.localAddress ?? "";
    return wire;
  }

  /** Why the connection ended, once it has. */
  get failure(): WireFailure | undefined {
    return this.#failure;
  }

  /** A reply that came although nobody waits for it yet: during DATA it means that the server has made up its mind. */
  get replied(): boolean {
    return this.#replies.length > 0;
  }

  /** Sends command lines as one write; each of them is owed a reply. */
  command(...lines: string[]): void {
    this.#owed += lines.length;
    this.#socket.write(`${lines.join("\r\n")}\r\n`);
  }

  /** The message after 354: one reply is owed for all of it. */
  startBody(): void {
    this.#owed += 1;
  }

  /** False when the caller should `drain` before it writes more. */
  body(bytes: Buffer): boolean {
    return this.#socket.write(bytes);
  }

  /** Resolves when the bytes written have left for the kernel, or when a reply has come before that. */
  async drain(timeoutMs: number): Promise<void> {
    if (this.replied || (!this.#failure && !this.#socket.writableNeedDrain)) return;
    await this.#wait("drain", timeoutMs, `no data taken for ${timeoutMs} ms`);
  }

  async read(timeoutMs: number): Promise<Reply> {
    const reply = this.#replies.shift() ?? (await this.#wait("reply", timeoutMs, `no reply within ${timeoutMs} ms`));
    return reply as Reply;
  }

  /** Turns the connection into TLS. Anything that the server sent in clear after its 220 ends the session. */
  async secure(options: tls.ConnectionOptions, timeoutMs: number): Promise<tls.TLSSocket> {
    // RFC 3207 §4.2: what came before the handshake must not be taken for something said inside it.
    if (this.#reader.partial || this.replied) {
      this.fail({ kind: "protocol", message: "plaintext after the reply to STARTTLS" });
    }
    if (this.#failure) throw new WireError(this.#failure);
    this.#unlisten();
    const secured = tls.connect({ ...options, socket: this.#socket });
    this.#socket = secured;
    this.#unlisten = this.#listen(secured);
    secured.once("secureConnect", () => this.#wake("ready"));
    await this.#wait("ready", timeoutMs, `no TLS handshake within ${timeoutMs} ms`);
    return secured;
  }

  /** A limit on everything until it is lifted, whatever the single waits allow. */
  limit(timeoutMs: number): () => void {
    clearTimeout(this.#deadline);
    this.#deadline = setTimeout(
      () => this.fail({ kind: "timeout", message: `not done within ${timeoutMs} ms` }),
      timeoutMs,
    );
    return () => clearTimeout(this.#deadline);
  }

  /** Ends the connection when the signal fires; call what it returns to let go of the signal. */
  bind(signal: AbortSignal | undefined): () => void {
    if (!signal) return () => {};
    const abort = () => this.fail({ kind: "aborted", message: "stopped by us" });
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    return () => signal.removeEventListener("abort", abort);
  }

  /** Ends the connection for good; the first reason given is the one every later call reports. */
  fail(failure: WireFailure): void {
    if (this.#failure) return;
    this.#failure = failure;
    clearTimeout(this.#deadline);
    this.#socket.destroy();
    this.#tcp.destroy();
    const waiter = this.#take();
    waiter?.reject(new WireError(failure));
    this.onDown?.();
  }

  /** Returns what takes the ears for bytes off again, when TLS is laid over the socket; errors stay heard. */
  #listen(socket: net.Socket): () => void {
    const data = (chunk: Buffer) => this.#receive(chunk);
    const drain = () => this.#wake("drain");
    const end = () => this.fail({ kind: "lost", code: "CLOSED", message: "the server closed the connection" });
    socket.on("data", data).on("drain", drain).on("end", end);
    socket.on("close", () => this.fail({ kind: "lost", code: "CLOSED", message: "the connection closed" }));
    socket.on("error", (error: NodeJS.ErrnoException) => {
      this.fail({ kind: "lost", code: error.code ?? "ERROR", message: error.message });
    });
    return () => socket.off("data", data).off("drain", drain).off("end", end);
  }

  #receive(chunk: Buffer): void {
    if (this.#failure) return;
    const wrong = this.#reader.push(chunk, (reply) => this.#accept(reply));
    if (wrong) this.fail({ kind: "protocol", message: wrong });
    if (this.replied) this.#wake("drain");
  }

  #accept(reply: Reply): void {
    if (this.#owed === 0) {
      return this.fail({ kind: "protocol", message: `the server said, unasked: ${reply.line}` });
    }
    this.#owed -= 1;
    if (this.#waiter?.kind === "reply") this.#take()?.resolve(reply);
    else this.#replies.push(reply);
  }

  #wait(kind: Waiter["kind"], timeoutMs: number, late: string): Promise<Reply | undefined> {
    if (this.#failure) return Promise.reject(new WireError(this.#failure));
    return new Promise((resolve, reject) => {
      this.#waiter = { kind, resolve, reject };
      this.#timer = setTimeout(() => this.fail({ kind: "timeout", message: late }), timeoutMs);
    });
  }

  #wake(kind: Waiter["kind"]): void {
    if (this.#waiter?.kind === kind) this.#take()?.resolve();
  }

  #take(): Waiter | undefined {
    const waiter = this.#waiter;
    this.#waiter = undefined;
    clearTimeout(this.#timer);
    return waiter;
  }
}
