/** One connection of the scripted sink: reads commands and messages, asks the script for each step, and replies. */
import type net from "node:net";
import tls from "node:tls";
import {
  type Action,
  type Delivery,
  type Script,
  type SinkOptions,
  type Step,
  usualExtensions,
} from "./sink-script.ts";

type Envelope = { from: string; parameters: string[]; recipients: string[] };
type Planned = Exclude<Action, string>;

/** What a connection needs of its sink. */
type Sink = {
  options: SinkOptions;
  secureContext: tls.SecureContext | undefined;
  script: Script;
  deliveries: Delivery[];
  commands: { connection: number; line: string; secure: boolean }[];
  replies: { connection: number; verb: string; line: string }[];
  accepted: number;
  count(verb: string, recipient: string): number;
  left(connection: SinkConnection): void;
  changed(): void;
};

export class SinkConnection {
  readonly #sink: Sink;
  readonly #number: number;
  #socket: net.Socket;
  #secure = false;
  #helo = "";
  #user = "";
  #transaction = 0;
  #envelope: Envelope | undefined;
  #input: Buffer = Buffer.alloc(0);
  /** The message that is being received, in chunks. */
  #message: { delivery: Delivery; chunks: Buffer[]; received: number; tail: Buffer } | undefined;
  #login: ((line: string) => string) | undefined;
  #working = false;
  #ended = false;

  constructor(sink: Sink, socket: net.Socket, number: number) {
    this.#sink = sink;
    this.#socket = socket;
    this.#number = number;
  }

  start(): void {
    if (this.#sink.options.implicitTls) this.#upgrade();
    else this.#listen();
    void this.#perform("connect", "220 sink.example.test ESMTP").then(() => this.#work());
  }

  resume(): void {
    this.#socket.resume();
  }

  destroy(): void {
    this.#ended = true;
    this.#socket.destroy();
  }

  #listen(): void {
    this.#socket.on("data", this.#onData);
    this.#socket.on("error", () => this.destroy());
    this.#socket.on("end", () => this.#socket.end());
  }

  #onData = (chunk: Buffer) => {
    this.#input = this.#input.length === 0 ? chunk : Buffer.concat([this.#input, chunk]);
    void this.#work();
  };

  #upgrade(): void {
    const plain = this.#socket;
    plain.off("data", this.#onData);
    this.#input = Buffer.alloc(0);
    this.#socket = new tls.TLSSocket(plain, { isServer: true, secureContext: this.#sink.secureContext });
    this.#secure = true;
    this.#listen();
  }

  /** Processes commands strictly one at a time, even if one packet contains several. */
  async #work(): Promise<void> {
    if (this.#working) return;
    this.#working = true;
    this.#socket.cork();
    while (!this.#ended && (this.#message ? await this.#takeMessage() : await this.#takeLine()));
    this.#working = false;
    this.#socket.uncork();
  }

  async #takeLine(): Promise<boolean> {
    const end = this.#input.indexOf("\r\n");
    if (end < 0) return false;
    const line = this.#input.toString("utf8", 0, end);
    this.#input = this.#input.subarray(end + 2);
    if (this.#sink.options.record !== false) {
      this.#sink.commands.push({ connection: this.#number, line, secure: this.#secure });
    }
    await this.#command(line);
    return true;
  }

  async #command(line: string): Promise<void> {
    if (this.#login) return this.#perform("auth", this.#login(line), { line });
    const [word = "", ...rest] = line.split(" ");
    const verb = word.toLowerCase();
    const argument = rest.join(" ");
    switch (verb) {
      case "ehlo":
      case "helo":
        this.#helo = argument;
        this.#envelope = undefined;
        return this.#perform(verb, verb === "helo" ? "250 sink.example.test" : this.#ehlo(), { line });
      case "starttls":
        if (!this.#sink.secureContext) return this.#perform(verb, "502 5.5.1 No TLS here", { line });
        return this.#perform(verb, { reply: "220 2.0.0 Ready to start TLS", after: "upgrade" }, { line });
      case "auth":
        return this.#perform(verb, this.#auth(argument), { line });
      case "mail":
        return this.#mail(line);
      case "rcpt":
        return this.#rcpt(line);
      case "data":
        return this.#data(line);
      case "rset":
        this.#envelope = undefined;
        return this.#perform(verb, "250 2.0.0 Reset", { line });
      case "noop":
        return this.#perform(verb, "250 2.0.0 Nothing done", { line });
      case "quit":
        return this.#perform(verb, { reply: "221 2.0.0 Bye", after: "close" }, { line });
      default:
        return this.#perform(verb, "500 5.5.2 Command not known", { line });
    }
  }

  #ehlo(): string {
    const { extensions = usualExtensions, auth } = this.#sink.options;
    const list = [...extensions];
    if (this.#sink.secureContext && !this.#secure) list.push("STARTTLS");
    if (auth) list.push(`AUTH ${auth.mechanisms ?? "PLAIN LOGIN"}`);
    return ["sink.example.test", ...list].map((word, i) => `250${i < list.length ? "-" : " "}${word}`).join("\n");
  }

  #auth(argument: string): string {
    const { auth } = this.#sink.options;
    const text = (coded: string) => Buffer.from(coded, "base64").toString();
    const checkCredentials = (user: string, password: string) => {
      this.#login = undefined;
      if (!auth || user !== auth.user || password !== auth.password) return "535 5.7.8 Wrong name or password";
      this.#user = user;
      return "235 2.7.0 Welcome";
    };
    const [mechanism = "", initial = ""] = argument.split(" ");
    if (mechanism.toUpperCase() === "PLAIN") {
      const [, user = "", password = ""] = text(initial).split("\0");
      return checkCredentials(user, password);
    }
    this.#login = (user) => {
      this.#login = (password) => checkCredentials(text(user), text(password));
      return `334 ${Buffer.from("Password:").toString("base64")}`;
    };
    return `334 ${Buffer.from("Username:").toString("base64")}`;
  }

  #mail(line: string): Promise<void> {
    if (this.#envelope) return this.#perform("mail", "503 5.5.1 Nested MAIL", { line });
    this.#transaction += 1;
    const [, from = "", parameters = ""] = /^MAIL FROM:<(.*)>(?: (.*))?$/i.exec(line) ?? [];
    const unknown = this.#sink.options.auth && !this.#user;
    return this.#perform(
      "mail",
      unknown ? "530 5.7.0 Authentication required" : "250 2.1.0 Sender ok",
      { line, from },
      () => {
        this.#envelope = { from, parameters: parameters.split(" ").filter((word) => word !== ""), recipients: [] };
      },
    );
  }

  #rcpt(line: string): Promise<void> {
    const recipient = /^RCPT TO:<(.*)>/i.exec(line)?.[1] ?? "";
    const usual = this.#envelope ? "250 2.1.5 Recipient ok" : "503 5.5.1 MAIL first";
    return this.#perform("rcpt", usual, { line, recipient }, () => this.#envelope?.recipients.push(recipient));
  }

  #data(line: string): Promise<void> {
    const ready = this.#envelope && this.#envelope.recipients.length > 0;
    return this.#perform("data", ready ? "354 Go ahead" : "503 5.5.1 RCPT first", { line }, () => {
      const delivery = {
        connection: this.#number,
        transaction: this.#transaction,
        secure: this.#secure,
        helo: this.#helo,
        user: this.#user,
        from: this.#envelope?.from ?? "",
        parameters: this.#envelope?.parameters ?? [],
        recipients: this.#envelope?.recipients ?? [],
        raw: Buffer.alloc(0),
        data: Buffer.alloc(0),
        complete: false,
        reply: "",
      };
      if (this.#sink.options.record !== false) this.#sink.deliveries.push(delivery);
      // Initialized as if a line had just ended, so that an immediate dot ends an empty message.
      this.#message = { delivery, chunks: [], received: 0, tail: Buffer.from("\r\n") };
    });
  }

  async #takeMessage(): Promise<boolean> {
    const message = this.#message;
    if (!message || this.#input.length === 0) return false;
    const window = Buffer.concat([message.tail, this.#input]);
    const found = window.indexOf("\r\n.\r\n");
    // Negative if the dot arrived with the previous chunk.
    const used = found < 0 ? this.#input.length : found + 2 - message.tail.length;
    message.chunks.push(this.#input.subarray(0, Math.max(used, 0)));
    message.received += used;
    message.tail = window.subarray(-4);
    this.#input = this.#input.subarray(found < 0 ? this.#input.length : used + 3);
    await this.#perform("bytes", { after: "go on" });
    if (found < 0 || this.#ended) return false;
    message.delivery.complete = true;
    this.storeReceived();
    await this.#perform("dot", "250 2.0.0 Queued");
    this.#message = undefined;
    this.#envelope = undefined;
    return true;
  }

  /** Stores the received bytes of a message in its delivery, complete or not. */
  storeReceived(): void {
    const message = this.#message;
    if (!message || this.#sink.options.record === false) return;
    const { delivery } = message;
    delivery.raw = Buffer.concat(message.chunks).subarray(0, message.received);
    delivery.data = Buffer.from(delivery.raw.toString("latin1").replace(/(^|\r\n)\./g, "$1"), "latin1");
  }

  /** Asks the script, then performs its action or else the usual one. `taken` runs when the reply is positive. */
  async #perform(verb: string, usual: Action, known: Partial<Step> = {}, taken?: () => void): Promise<void> {
    const recipient = known.recipient ?? this.#envelope?.recipients[0] ?? "";
    const action = this.#sink.script({
      verb,
      line: "",
      connection: this.#number,
      transaction: this.#transaction,
      secure: this.#secure,
      from: this.#envelope?.from ?? "",
      recipients: this.#envelope?.recipients ?? [],
      seen: verb === "bytes" ? 0 : this.#sink.count(verb, recipient),
      received: this.#message?.received ?? 0,
      ...known,
      recipient,
    });
    const plan = planOf(action, usual);
    if (/^[23]/.test(plan.reply ?? "")) taken?.();
    if (verb === "dot" && this.#message) {
      this.#message.delivery.reply = plan.reply ?? "";
      if (plan.reply?.startsWith("2")) this.#sink.accepted += 1;
    }
    await this.#reply(verb, plan);
    this.#follow(plan.after);
    if (verb !== "bytes" || action !== undefined) this.#sink.changed();
  }

  async #reply(verb: string, plan: Planned): Promise<void> {
    if (plan.raw !== undefined) this.#socket.write(plan.raw);
    if (plan.reply === undefined) return;
    if (this.#sink.options.record !== false) {
      this.#sink.replies.push({ connection: this.#number, verb, line: plan.reply });
    }
    const bytes = Buffer.from(`${plan.reply.split("\n").join("\r\n")}\r\n`);
    if (plan.dripMs === undefined) {
      this.#socket.write(bytes);
      return;
    }
    this.#socket.uncork();
    for (const byte of bytes) {
      if (this.#ended || this.#socket.destroyed) return;
      this.#socket.write(Buffer.of(byte));
      await new Promise((resolve) => setTimeout(resolve, plan.dripMs));
    }
    // The greeting is sent outside #work, which would uncork the socket again.
    if (this.#working) this.#socket.cork();
  }

  #follow(after: Planned["after"]): void {
    if (after === "close" || after === "reset") {
      this.#ended = true;
      this.#sink.left(this);
    }
    if (after === "close") {
      this.#socket.uncork();
      this.#socket.end(() => this.#socket.destroy());
    } else if (after === "reset") {
      this.#socket.uncork();
      this.#socket.resetAndDestroy();
    } else if (after === "pause") {
      this.#socket.pause();
    } else if (after === "rubbish") {
      this.#socket.off("data", this.#onData).once("data", () => this.#socket.write("I have no idea what you mean\r\n"));
    } else if (after === "upgrade") {
      this.#socket.uncork();
      this.#upgrade();
      this.#socket.cork();
    }
  }
}

function planOf(action: Action | undefined, usual: Action): Planned {
  const plan = planned(action ?? usual);
  const dripsUsual = plan.dripMs !== undefined && plan.reply === undefined;
  return dripsUsual ? { ...planned(usual), ...plan } : plan;
}

function planned(action: Action): Planned {
  if (typeof action !== "string") return action;
  if (action === "close" || action === "reset") return { after: action };
  if (action === "silence") return {};
  return { reply: action };
}
