/** One session with an SMTP client that sends us mail: greeting, TLS, login, envelope, message. The policy decides what is accepted. */
import type { Socket } from "node:net";
import { type SecureContext, TLSSocket } from "node:tls";
import { networksOf } from "../../shares/address.ts";
import type { LoopShare } from "../../shares/loop-share.ts";
import { authExtension, readLogin } from "./auth.ts";
import type { DataRead } from "./data.ts";
import {
  createServerInput,
  readCommand,
  readGreetingName,
  readPath,
  type ServerInput,
  type SmtpCommand,
} from "./input.ts";
import type { MessageMemory } from "./message-memory.ts";
import { mailRefusal, readChunkSize } from "./parameters.ts";
import type { Account, RemoteClient, ServerPolicy, SessionLimits, Submission } from "./policy.ts";
import { createReceiving, type Receiving } from "./receiving.ts";
import { createReplyWriter, drained, faultReply, finishSocket, handshake, replyLines } from "./socket.ts";

export type SessionDeps = {
  hostname: string;
  policy: ServerPolicy;
  limits: SessionLimits;
  secureContext: () => SecureContext;
  /** Set on a port for submission. */
  submission?: Submission;
  /** TLS from the first octet (RFC 8314 §3.3). */
  implicitTls?: boolean;
  /** The memory for messages, which all sessions share. */
  memory: MessageMemory;
  /** Large messages are read in turns by network, so that a flood of them leaves the event loop to others. */
  loop: LoopShare;
  /** Aborts when the program shuts down: a session then ends instead of reading its next command. */
  stopping: AbortSignal;
  /** Called when the session ends because its client is slow or idle, or for lack of memory. */
  onGiveUp?(reason: GiveUpReason): void;
};

export type GiveUpReason = "memory" | "slow" | "idle";

export type Session = {
  run(): Promise<void>;
  /** How long the client has sent nothing that leads to a message; undefined while a message arrives fast enough or is processed. */
  idleMs(): number | undefined;
  /** Ends the session with this reply. */
  end(reply: string): void;
};

/** `accepted` counts the accepted RCPT commands, duplicates included. */
type Envelope = { sender: string; recipients: string[]; accepted: number; utf8: boolean };

const notImplemented = "502 5.5.1 command not implemented";
/** Replies to recipients beyond the limit before the server disconnects. */
const maxRefusedRecipients = 1000;
/** No client needs longer for a handshake. */
const maxHandshakeMs = 60_000;

export function createSession(plain: Socket, deps: SessionDeps): Session {
  const { limits, policy, submission } = deps;
  const tooLarge = `552 5.3.4 message too large, the limit is ${limits.messageBytes} octets`;
  const network = networksOf(plain.remoteAddress ?? "").site;
  let socket: Socket = plain;
  let input: ServerInput = createServerInput(socket);
  const client: RemoteClient = { ip: plain.remoteAddress ?? "", helo: "", tls: undefined };
  let account: Account | undefined;
  let envelope: Envelope | undefined;
  let errors = 0;
  let refusedRecipients = 0;
  let idleCommands = 0;
  let messages = 0;
  let open = true;
  const startedAtMs = performance.now();
  /** When the last message was complete, or the session started. */
  let messageAtMs = startedAtMs;
  let receiving: Receiving | undefined;
  /** While the policy decides on a message. */
  let deciding = false;

  const replies = createReplyWriter(() => socket);
  const send = (reply: string) => replies.write(replyLines(reply));
  const sendLines = (lines: readonly string[]) =>
    replies.write(lines.map((line, i) => `250${i < lines.length - 1 ? "-" : " "}${line}\r\n`).join(""));
  const disconnect = (reply?: string) => {
    if (reply) send(reply);
    open = false;
  };
  const idle = (respond: () => void) => {
    idleCommands += 1;
    if (idleCommands > limits.idleCommands) disconnect("421 4.7.0 too many commands without a message");
    else respond();
  };
  const sendError = (reply: string) => {
    errors += 1;
    if (errors > limits.errors) disconnect("421 4.7.0 too many errors, try again later");
    else send(reply);
  };

  async function run(): Promise<void> {
    try {
      await converse();
    } finally {
      forgetClient();
    }
  }

  function forgetClient(): void {
    account?.onEnd?.();
    account = undefined;
    reset();
  }

  async function converse(): Promise<void> {
    if (deps.implicitTls && !(await secure())) return;
    send(`220 ${deps.hostname} ESMTP Posthorn`);
    while (open) {
      const read = await input.command({ waitMs: commandWaitMs(), signal: deps.stopping });
      if (read.kind === "line") await handle(readCommand(read.line));
      else if (read.kind === "fault") disconnect(faultReply(read.fault));
      else if (read.kind === "timeout") giveUp("idle", "421 4.4.2 timeout waiting for a command or a message");
      else if (read.kind === "stopped") disconnect("421 4.3.2 server is shutting down, try again later");
      else return;
      // A client that does not read its replies gets no more of them.
      if (socket.writableNeedDrain && !(await drained(socket, limits.commandMs))) return;
    }
    replies.flush();
    await finishSocket(socket);
  }

  function commandWaitMs(): number {
    const nowMs = performance.now();
    const left = Math.min(messageAtMs + limits.messageMs, startedAtMs + limits.sessionMs) - nowMs;
    return Math.max(0, Math.min(limits.commandMs, left));
  }

  function giveUp(reason: GiveUpReason, reply: string): void {
    deps.onGiveUp?.(reason);
    disconnect(reply);
  }

  async function handle(command: SmtpCommand | undefined): Promise<void> {
    if (!command) return sendError("500 5.5.2 command is not valid UTF-8");
    switch (command.verb) {
      case "EHLO":
      case "HELO":
        return idle(() => greet(command));
      case "STARTTLS":
        return await startTls(command);
      case "MAIL":
        return mail(command);
      case "RCPT":
        return await rcpt(command);
      case "DATA":
        return await data(command);
      case "BDAT":
        return submission ? await bdat(command) : sendError(notImplemented);
      case "AUTH":
        return submission ? await auth(command, submission) : sendError(notImplemented);
      case "RSET":
        reset();
        return idle(() => send("250 2.0.0 ok"));
      case "NOOP":
        return idle(() => send("250 2.0.0 ok"));
      case "QUIT":
        return disconnect("221 2.0.0 goodbye");
      case "VRFY":
        // RFC 5321 §3.5.3 allows 252 for every address: VRFY must not reveal which mailboxes exist.
        return sendError("252 2.5.0 addresses are not verified, send a message instead");
      case "HELP":
        return idle(() => send("214 2.0.0 see RFC 5321"));
      case "EXPN":
      case "TURN":
        return sendError(notImplemented);
      case "GET":
      case "HEAD":
      case "POST":
      case "PUT":
      case "OPTIONS":
      case "CONNECT":
        // A web page can make a browser connect here: without this, each header of its request would be read as a command.
        return disconnect("521 5.5.1 this is SMTP, not HTTP");
      default:
        return sendError("500 5.5.2 unknown command");
    }
  }

  function greet({ verb, rest }: SmtpCommand): void {
    const name = readGreetingName(rest);
    if (name === undefined) return sendError(`501 5.5.4 syntax: ${verb} hostname`);
    // RFC 2920 §3.1: the client must wait for this reply, because it changes which commands may follow.
    if (input.hasMore()) return disconnect(`503 5.5.0 wait for the reply to ${verb} before the next command`);
    client.helo = name;
    reset();
    if (verb === "HELO") return send(`250 ${deps.hostname}`);
    sendLines([
      deps.hostname,
      "PIPELINING",
      `SIZE ${limits.messageBytes}`,
      ...(client.tls ? [] : ["STARTTLS"]),
      ...(submission && !account && mayLogIn(submission) ? [authExtension] : []),
      "ENHANCEDSTATUSCODES",
      "8BITMIME",
      ...(submission ? ["CHUNKING"] : []),
      "SMTPUTF8",
    ]);
  }

  async function startTls({ rest }: SmtpCommand): Promise<void> {
    if (client.tls) return sendError("503 5.5.1 TLS is already active");
    if (rest !== "") return sendError("501 5.5.4 STARTTLS takes no parameter");
    // Plaintext from before the handshake must not be read after it (RFC 3207 §6, CVE-2011-0411).
    if (input.hasMore()) return disconnect("503 5.5.0 no data may follow STARTTLS before the TLS handshake");
    send("220 2.0.0 go ahead");
    await secure();
  }

  /** The TLS handshake. What the client said before it is forgotten (RFC 3207 §4.2). False: the session ends. */
  async function secure(): Promise<boolean> {
    replies.flush();
    input.detach();
    const tls = new TLSSocket(plain, { isServer: true, secureContext: deps.secureContext() });
    socket = tls;
    input = createServerInput(tls);
    if (!(await handshake(tls, Math.min(limits.commandMs, maxHandshakeMs)))) {
      open = false;
      tls.destroy();
      return false;
    }
    client.tls = { protocol: tls.getProtocol() ?? "", cipher: tls.getCipher()?.standardName ?? "" };
    client.helo = "";
    forgetClient();
    return true;
  }

  function mayLogIn({ allowsPlaintext }: Submission): boolean {
    return client.tls !== undefined || allowsPlaintext(client);
  }

  async function auth({ rest }: SmtpCommand, { authenticate, ...rules }: Submission): Promise<void> {
    if (client.helo === "") return sendError("503 5.5.1 send EHLO first");
    if (account) return sendError("503 5.5.1 you are already authenticated");
    if (envelope) return sendError("503 5.5.1 AUTH is not allowed during a transaction");
    if (!mayLogIn({ authenticate, ...rules }))
      return sendError("538 5.7.11 encryption is required before AUTH: send STARTTLS first");
    const login = await readLogin(rest, { send, readLine });
    if (!login) return;
    const result = "reply" in login ? login : await authenticate(login, client);
    if ("reply" in result) return sendError(result.reply);
    account = result;
    idleCommands = 0;
    send("235 2.7.0 authenticated");
  }

  /** The next line of a dialogue. Undefined: the session has ended. */
  async function readLine(): Promise<string | undefined> {
    const read = await input.command({ waitMs: commandWaitMs(), signal: deps.stopping });
    if (read.kind === "line") return read.line.toString("latin1");
    if (read.kind === "fault") disconnect(faultReply(read.fault));
    else disconnect(read.kind === "end" ? undefined : "421 4.4.2 timeout waiting for a response");
    return undefined;
  }

  function mail({ rest }: SmtpCommand): void {
    if (client.helo === "") return sendError("503 5.5.1 send EHLO or HELO first");
    if (submission && !account) return sendError(loginRequired(submission));
    if (envelope) return sendError("503 5.5.1 a transaction is already open: finish it with DATA or send RSET");
    if (messages >= limits.messages)
      return disconnect("421 4.7.0 too many messages on this connection, reconnect to send more");
    const path = readPath(rest, "FROM");
    if (!path) return sendError("501 5.5.4 syntax: MAIL FROM:<address>");
    const { messageBytes } = limits;
    const refusal = mailRefusal(path.parameters, { tooLarge, messageBytes, mayLogIn: !!submission });
    if (refusal) return sendError(refusal);
    const utf8 = path.parameters.has("SMTPUTF8");
    if (!utf8 && !/^\p{ASCII}*$/u.test(path.address))
      return sendError("553 5.6.7 this address requires SMTPUTF8 in MAIL");
    if (path.address !== "" && !/^[^@]+@[^@]+$|^"[^"]*"@[^@]+$/.test(path.address))
      return sendError("553 5.1.7 invalid sender address");
    envelope = { sender: path.address, recipients: [], accepted: 0, utf8 };
    send("250 2.1.0 ok");
  }

  function loginRequired(rules: Submission): string {
    return mayLogIn(rules)
      ? "530 5.7.0 authentication required: the user name is posthorn, the password an API key"
      : "530 5.7.0 send STARTTLS first, then AUTH";
  }

  async function rcpt({ rest }: SmtpCommand): Promise<void> {
    if (!envelope) return sendError("503 5.5.1 send MAIL first");
    if (receiving) return sendError("503 5.5.1 the message has begun: name its recipients before it, or send RSET");
    // Checked before the recipient lookup, so that a client cannot cause thousands of lookups.
    if (envelope.accepted >= limits.recipients) {
      refusedRecipients += 1;
      if (refusedRecipients > maxRefusedRecipients) return disconnect("421 4.7.0 too many recipients");
      return send(`452 4.5.3 too many recipients, at most ${limits.recipients} per message`);
    }
    const path = readPath(rest, "TO");
    if (!path) return sendError("501 5.5.4 syntax: RCPT TO:<address>");
    if (path.parameters.size > 0) return sendError("555 5.5.4 RCPT parameters are not supported");
    if (!envelope.utf8 && !/^\p{ASCII}*$/u.test(path.address))
      return sendError("553 5.6.7 this address requires SMTPUTF8 in MAIL");
    const decision = await policy.recipient(path.address, { sender: envelope.sender, client, account });
    if ("reply" in decision) return decision.reply.startsWith("5") ? sendError(decision.reply) : send(decision.reply);
    envelope.accepted += 1;
    // A mailbox named twice is one recipient.
    if (!envelope.recipients.includes(decision.address)) envelope.recipients.push(decision.address);
    send("250 2.1.5 ok");
  }

  async function data({ rest }: SmtpCommand): Promise<void> {
    if (receiving) return sendError("503 5.5.1 a message has begun with BDAT: finish it, or send RSET");
    if (!envelope) return sendError("503 5.5.1 send MAIL first");
    if (rest !== "") return sendError("501 5.5.4 DATA takes no parameter");
    if (envelope.recipients.length === 0) return sendError("554 5.5.1 no valid recipients");
    if (input.hasMore()) return disconnect("503 5.5.0 wait for the reply to DATA before sending the message");
    send("354 end with a dot on a line of its own");
    receiving = startReceiving();
    await complete(await receiving.read());
  }

  /** RFC 3030: the octets of each command follow it at once, so they are read even if the command is refused. */
  async function bdat({ rest }: SmtpCommand): Promise<void> {
    const chunk = readChunkSize(rest);
    if (!chunk) return disconnect("501 5.5.4 syntax: BDAT size [LAST]");
    if (chunk.bytes > limits.messageBytes * 2) return disconnect(tooLarge);
    const refusal = chunkRefusal();
    receiving ??= startReceiving();
    const read = await receiving.readChunk(chunk.bytes);
    if (read.kind !== "chunk") return await complete(read);
    if (refusal) {
      reset();
      return sendError(refusal);
    }
    if (chunk.isLast || receiving.discards()) return await complete(receiving.chunks());
    send(`250 2.0.0 ${chunk.bytes} octets received`);
  }

  function startReceiving(): Receiving {
    return createReceiving({ owner: account?.owner ?? network, limits, memory: deps.memory, loop: deps.loop, input });
  }

  function chunkRefusal(): string | undefined {
    if (!envelope) return "503 5.5.1 send MAIL first";
    return envelope.recipients.length === 0 ? "554 5.5.1 no valid recipients" : undefined;
  }

  /** Ends the transaction: without a message, or with the decision of the policy. */
  async function complete(read: DataRead): Promise<void> {
    const about = receiving?.shortage();
    try {
      const { sender, recipients } = envelope ?? { sender: "", recipients: [] };
      envelope = undefined;
      messageAtMs = performance.now();
      if (read.kind === "timeout") return giveUp("slow", "421 4.4.2 timeout: the message arrives too slowly");
      if (read.kind === "stopped") return giveUp("memory", "421 4.3.1 insufficient memory, try again later");
      if (read.kind === "end" || read.kind === "chunk") return disconnect();
      if (read.kind === "fault") return disconnect(faultReply(read.fault));
      if (read.kind === "too large") {
        const reply = about ? "452 4.3.1 insufficient memory, try again later" : tooLarge;
        if (about) deps.onGiveUp?.("memory");
        return read.ended ? send(reply) : disconnect(reply);
      }
      messages += 1;
      idleCommands = 0;
      deciding = true;
      const reply = await policy.message({ client: { ...client }, account, sender, recipients, message: read.message });
      // The pool of a program keeps its sessions for a day, in which some recipients are wrong.
      if (account && reply.startsWith("2")) errors = 0;
      if (reply.startsWith("5")) sendError(reply);
      else send(reply);
    } finally {
      receiving?.release();
      receiving = undefined;
      deciding = false;
      messageAtMs = performance.now();
    }
  }

  function reset(): void {
    envelope = undefined;
    receiving?.release();
    receiving = undefined;
  }

  return {
    run,
    idleMs() {
      if (deciding) return undefined;
      if (receiving) return receiving.isSlow() ? receiving.progress().lagMs() : undefined;
      return performance.now() - messageAtMs;
    },
    end(reply) {
      disconnect(reply);
      replies.flush();
      socket.destroySoon();
    },
  };
}
