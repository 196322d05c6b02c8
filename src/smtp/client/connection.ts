/** One connection to an SMTP server: writes commands, reads replies, and has a timeout on every wait. Used by the client session. */
import net from "node:net";
import tls from "node:tls";
import type { Reply } from "./evidence.ts";
import type { Progress } from "./progress.ts";
import { ReplyReader } from "./reply.ts";

export type ConnectionFailure =
  | { kind: "lost"; code: string; message: string }
  | { kind: "timeout"; message: string }
  | { kind: "protocol"; message: string }
  | { kind: "aborted"; message: string };

export class SmtpConnectionError extends Error {
  override readonly name = "SmtpConnectionError";
  readonly failure: ConnectionFailure;
  constructor(failure: ConnectionFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

type Waiter = {
  kind: "reply" | "drain" | "ready";
  resolve: (reply?: Reply) => void;
  reject: (error: SmtpConnectionError) => void;
};

export class SmtpConnection {
  /** The TCP socket. `#socket` is the one to read and write: the same, or the TLS socket on top of it. */
  readonly #tcp: net.Socket;
  #socket: net.Socket;
  #reader = new ReplyReader();
  #replies: Reply[] = [];
  /** Replies that the server still owes us, beginning with the banner. A reply beyond these is a protocol error. */
  #owedReplies = 1;
  #waiter: Waiter | undefined;
  #timer: NodeJS.Timeout | undefined;
  #deadline: NodeJS.Timeout | undefined;
  #failure: ConnectionFailure | undefined;
  #removeListeners: () => void;
  localAddress = "";
  /** Called once, when the connection is no longer usable. */
  onDown: (() => void) | undefined;
  /** The attempt that uses the connection now. */
  progress: Progress | undefined;

  private constructor(socket: net.Socket) {
    this.#tcp = socket;
    this.#socket = socket;
    this.#removeListeners = this.#listen(socket);
  }

  static async connect(
    options: net.TcpNetConnectOpts,
    timeoutMs: number,
    { signal, progress }: { signal?: AbortSignal; progress?: Progress } = {},
  ): Promise<SmtpConnection> {
    // Each group of commands is one write, so Nagle's algorithm would only delay the next group.
    const socket = net.connect({ ...options, noDelay: true, autoSelectFamily: false });
    const connection = new SmtpConnection(socket);
    connection.progress = progress;
    socket.once("connect", () => connection.#wake("ready"));
    const unbind = connection.bind(signal);
    try {
      await connection.#wait("ready", timeoutMs, `no connection within ${timeoutMs} ms`);
    } finally {
      unbind();
    }
    connection.localAddress = socket.localAddress ?? "";
    return connection;
  }

  /** Why the connection ended; undefined while it is open. */
  get failure(): ConnectionFailure | undefined {
    return this.#failure;
  }

  /** True when a reply has arrived that the session has not read. During DATA it means that the server answered early. */
  get hasUnreadReply(): boolean {
    return this.#replies.length > 0;
  }

  /** Sends command lines in one write and expects one reply to each. */
  command(...lines: string[]): void {
    this.#owedReplies += lines.length;
    this.#socket.write(`${lines.join("\r\n")}\r\n`);
  }

  /** Called after 354, before the first chunk of the message: the server owes one reply to the whole message. */
  startBody(): void {
    this.#owedReplies += 1;
  }

  /** False when the caller should `drain` before the next write. */
  body(bytes: Buffer): boolean {
    return this.#socket.write(bytes);
  }

  /** Resolves when the kernel has taken the written bytes, or when a reply arrives first. */
  async drain(timeoutMs: number): Promise<void> {
    if (this.hasUnreadReply || (!this.#failure && !this.#socket.writableNeedDrain)) return;
    await this.#wait("drain", timeoutMs, `the server read no data for ${timeoutMs} ms`);
  }

  /** Writes bytes whose memory may be used again when the kernel has taken them. Resolves then, or when a reply arrives first, and rejects when
   * the connection ends. */
  async flush(bytes: Buffer, timeoutMs: number): Promise<void> {
    if (this.#failure) throw new SmtpConnectionError(this.#failure);
    let written = false;
    this.#socket.write(bytes, () => {
      written = true;
      this.#wake("drain");
    });
    if (!written && !this.hasUnreadReply)
      await this.#wait("drain", timeoutMs, `the server read no data for ${timeoutMs} ms`);
  }

  async read(timeoutMs: number): Promise<Reply> {
    const reply = this.#replies.shift() ?? (await this.#wait("reply", timeoutMs, `no reply within ${timeoutMs} ms`));
    return reply as Reply;
  }

  /** Upgrades the connection to TLS. Plaintext from the server after its 220 ends the session. */
  async secure(options: tls.ConnectionOptions, timeoutMs: number): Promise<tls.TLSSocket> {
    // RFC 3207 §4.2: bytes from before the handshake must not be read as part of the TLS session.
    if (this.#reader.partial || this.hasUnreadReply) {
      this.fail({ kind: "protocol", message: "the server sent plaintext after its reply to STARTTLS" });
    }
    if (this.#failure) throw new SmtpConnectionError(this.#failure);
    this.#removeListeners();
    const secured = tls.connect({ ...options, socket: this.#socket });
    this.#socket = secured;
    this.#removeListeners = this.#listen(secured);
    secured.once("secureConnect", () => this.#wake("ready"));
    await this.#wait("ready", timeoutMs, `no TLS handshake within ${timeoutMs} ms`);
    return secured;
  }

  /** Sets a deadline for all waits together; call the returned function to clear it. */
  setDeadline(timeoutMs: number): () => void {
    clearTimeout(this.#deadline);
    this.#deadline = setTimeout(
      () => this.fail({ kind: "timeout", message: `not finished within ${timeoutMs} ms` }),
      timeoutMs,
    );
    return () => clearTimeout(this.#deadline);
  }

  /** Ends the connection when the signal aborts; call the returned function to stop listening to the signal. */
  bind(signal: AbortSignal | undefined): () => void {
    if (!signal) return () => {};
    const abort = () => this.fail({ kind: "aborted", message: "aborted by Posthorn" });
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    return () => signal.removeEventListener("abort", abort);
  }

  /** Closes the connection. Every later call fails with the first failure given here. */
  fail(failure: ConnectionFailure): void {
    if (this.#failure) return;
    this.#failure = failure;
    clearTimeout(this.#deadline);
    this.#socket.destroy();
    this.#tcp.destroy();
    const waiter = this.#takeWaiter();
    waiter?.reject(new SmtpConnectionError(failure));
    this.onDown?.();
  }

  /** Returns a function that removes the data listeners, for the upgrade to TLS. The close and error listeners stay. */
  #listen(socket: net.Socket): () => void {
    const data = (chunk: Buffer) => this.#receive(chunk);
    const drain = () => this.#wake("drain");
    const end = () => this.fail({ kind: "lost", code: "CLOSED", message: "the server closed the connection" });
    socket.on("data", data).on("drain", drain).on("end", end);
    socket.on("close", () => this.fail({ kind: "lost", code: "CLOSED", message: "the connection closed" }));
    socket.on("error", (error: NodeJS.ErrnoException) => {
      this.fail({ kind: "lost", code: error.code ?? "ERROR", message: withoutAddress(error) });
    });
    return () => socket.off("data", data).off("drain", drain).off("end", end);
  }

  #receive(chunk: Buffer): void {
    if (this.#failure) return;
    const fault = this.#reader.push(chunk, (reply) => this.#accept(reply));
    if (fault) this.fail({ kind: "protocol", message: fault });
    if (this.hasUnreadReply) this.#wake("drain");
  }

  #accept(reply: Reply): void {
    if (this.#owedReplies === 0) {
      return this.fail({ kind: "protocol", message: `the server sent an unexpected reply: ${reply.line}` });
    }
    this.#owedReplies -= 1;
    if (this.#waiter?.kind === "reply") this.#takeWaiter(true)?.resolve(reply);
    else this.#replies.push(reply);
  }

  #wait(kind: Waiter["kind"], timeoutMs: number, timeoutMessage: string): Promise<Reply | undefined> {
    if (this.#failure) return Promise.reject(new SmtpConnectionError(this.#failure));
    this.progress?.wait();
    return new Promise((resolve, reject) => {
      this.#waiter = { kind, resolve, reject };
      this.#timer = setTimeout(() => this.fail({ kind: "timeout", message: timeoutMessage }), timeoutMs);
    });
  }

  #wake(kind: Waiter["kind"]): void {
    if (this.#waiter?.kind === kind) this.#takeWaiter(kind === "ready")?.resolve();
  }

  #takeWaiter(answered = false): Waiter | undefined {
    const waiter = this.#waiter;
    if (waiter) this.progress?.resume(answered);
    this.#waiter = undefined;
    clearTimeout(this.#timer);
    return waiter;
  }
}

/** The message of a system error contains the address of the server and ours. Tenants read this text, and a relay's address is private. */
function withoutAddress(error: NodeJS.ErrnoException): string {
  return error.syscall === undefined ? error.message : `${error.syscall} ${error.code ?? "ERROR"}`;
}
