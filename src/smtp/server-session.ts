/** One conversation with an SMTP client that brings mail: greeting, TLS, envelope, message. Who may receive what is the policy's business. */
import type { Socket } from "node:net";
import { type SecureContext, TLSSocket } from "node:tls";
import { type Command, readCommand, readGreetingName, readPath } from "./server-command.ts";
import { createServerInput, type ServerInput } from "./server-input.ts";
import { drained, faultReply, finish, handshake } from "./server-socket.ts";

export type Client = { ip: string; helo: string; tls: { protocol: string; cipher: string } | undefined };

export type IncomingMail = {
  client: Client;
  /** Empty for the null path of bounces. */
  sender: string;
  recipients: readonly string[];
  /** With its dots undone, CRLF throughout. */
  message: Buffer;
};

/** Replies are whole lines: `250 2.1.5 ok`. */
export type ServerPolicy = {
  /** At RCPT: the normalised address that counts from here on, or the refusal. */
  recipient(
    address: string,
    about: { sender: string; client: Client },
  ): Promise<{ address: string } | { reply: string }>;
  /** After the final dot. 2xx only when the message cannot be lost any more. */
  message(mail: IncomingMail): Promise<string>;
};

export type SessionLimits = {
  messageBytes: number;
  recipients: number;
  /** Refused or unknown commands before we hang up. */
  errors: number;
  /** Commands that bring no mail forward, between two messages. */
  idleCommands: number;
  messages: number;
  commandMs: number;
  dataMs: number;
  dataTotalMs: number;
};

export type SessionDeps = {
  hostname: string;
  policy: ServerPolicy;
  limits: SessionLimits;
  secureContext: () => SecureContext;
  /** Memory for messages that is shared by all sessions. */
  memory: { tryTake(bytes: number): boolean; give(bytes: number): void };
  /** Set when the program stops: a session ends at its next command. */
  stopping: AbortSignal;
};

type Envelope = { sender: string; recipients: string[]; asked: number; utf8: boolean };

export function createSession(plain: Socket, deps: SessionDeps): { run(): Promise<void> } {
  const { limits, policy } = deps;
  let socket: Socket = plain;
  let input: ServerInput = createServerInput(socket);
  const client: Client = { ip: plain.remoteAddress ?? "", helo: "", tls: undefined };
  let envelope: Envelope | undefined;
  let errors = 0;
  let refusedRecipients = 0;
  let idleCommands = 0;
  let messages = 0;
  let open = true;

  const say = (reply: string) => {
    if (!socket.writable) return;
    socket.write(`${reply.replace(/[\r\n]+/g, " ")}\r\n`);
  };
  const sayLines = (lines: readonly string[]) => {
    const text = lines.map((line, i) => `250${i < lines.length - 1 ? "-" : " "}${line}\r\n`).join("");
    if (socket.writable) socket.write(text);
  };
  const hangUp = (reply?: string) => {
    if (reply) say(reply);
    open = false;
  };
  const idle = (answer: () => void) => {
    idleCommands += 1;
    if (idleCommands > limits.idleCommands) hangUp("421 4.7.0 too many commands without a message");
    else answer();
  };
  const complain = (reply: string) => {
    errors += 1;
    if (errors > limits.errors) hangUp("421 4.7.0 too many errors, try again later");
    else say(reply);
  };

  async function run(): Promise<void> {
    say(`220 ${deps.hostname} ESMTP Posthorn`);
    while (open) {
      const read = await input.command({ waitMs: limits.commandMs, signal: deps.stopping });
      if (read.kind === "line") await obey(readCommand(read.line));
      else if (read.kind === "fault") hangUp(faultReply(read.fault));
      else if (read.kind === "timeout") hangUp("421 4.4.2 no command for too long");
      else if (read.kind === "stopped") hangUp("421 4.3.2 this server stops for a moment, try again");
      else return;
      // Who does not read our answers gets no more of them.
      if (socket.writableNeedDrain && !(await drained(socket, limits.commandMs))) return;
    }
    await finish(socket);
  }

  async function obey(command: Command | undefined): Promise<void> {
    if (!command) return complain("500 5.5.2 the command is not UTF-8");
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
      case "RSET":
        envelope = undefined;
        return idle(() => say("250 2.0.0 forgotten"));
      case "NOOP":
        return idle(() => say("250 2.0.0 ok"));
      case "QUIT":
        return hangUp("221 2.0.0 goodbye");
      case "VRFY":
        // RFC 5321 §3.5.3: nobody learns here who has a mailbox.
        return complain("252 2.5.0 send mail to find out");
      case "HELP":
        return idle(() => say("214 2.0.0 see RFC 5321"));
      case "EXPN":
      case "AUTH":
      case "BDAT":
      case "TURN":
        return complain("502 5.5.1 not offered here");
      case "GET":
      case "HEAD":
      case "POST":
      case "PUT":
      case "OPTIONS":
      case "CONNECT":
        // A browser that was made to talk to us: each header of its request would be one more command.
        return hangUp("521 5.5.1 this is SMTP, not HTTP");
      default:
        return complain("500 5.5.2 unknown command");
    }
  }

  function greet({ verb, rest }: Command): void {
    const name = readGreetingName(rest);
    if (name === undefined) return complain(`501 5.5.4 say ${verb} and the name of your host`);
    // RFC 2920 §3.1: the answer changes what may follow, so nothing may have been sent yet.
    if (input.hasMore()) return hangUp("503 5.5.0 commands were sent before the answer to the greeting");
    client.helo = name;
    envelope = undefined;
    if (verb === "HELO") return say(`250 ${deps.hostname}`);
    sayLines([
      deps.hostname,
      "PIPELINING",
      `SIZE ${limits.messageBytes}`,
      ...(client.tls ? [] : ["STARTTLS"]),
      "ENHANCEDSTATUSCODES",
      "8BITMIME",
      "SMTPUTF8",
    ]);
  }

  async function startTls({ rest }: Command): Promise<void> {
    if (client.tls) return complain("503 5.5.1 this connection is encrypted already");
    if (rest !== "") return complain("501 5.5.4 STARTTLS takes no parameter");
    // What was sent in clear before the handshake must not be read after it (RFC 3207 §6, CVE-2011-0411).
    if (input.hasMore()) return hangUp("503 5.5.0 nothing may follow STARTTLS before TLS");
    say("220 2.0.0 go ahead");
    input.detach();
    const secure = new TLSSocket(plain, { isServer: true, secureContext: deps.secureContext() });
    socket = secure;
    input = createServerInput(secure);
    const shaken = await handshake(secure, limits.commandMs);
    if (!shaken) {
      open = false;
      secure.destroy();
      return;
    }
    client.tls = { protocol: secure.getProtocol() ?? "", cipher: secure.getCipher()?.standardName ?? "" };
    client.helo = "";
    envelope = undefined;
  }

  function mail({ rest }: Command): void {
    if (client.helo === "") return complain("503 5.5.1 say EHLO first");
    if (envelope) return complain("503 5.5.1 one message at a time: the sender is known already");
    if (messages >= limits.messages) return hangUp("421 4.7.0 enough for one connection");
    const path = readPath(rest, "FROM");
    if (!path) return complain("501 5.5.4 write MAIL FROM:<address>");
    const refusal = judgeParameters(path.parameters);
    if (refusal) return complain(refusal);
    const utf8 = path.parameters.has("SMTPUTF8");
    if (!utf8 && !/^\p{ASCII}*$/u.test(path.address))
      return complain("553 5.6.7 this address needs the parameter SMTPUTF8");
    if (path.address !== "" && !/^[^@]+@[^@]+$|^"[^"]*"@[^@]+$/.test(path.address))
      return complain("553 5.1.7 the sender's address is not valid");
    envelope = { sender: path.address, recipients: [], asked: 0, utf8 };
    say("250 2.1.0 ok");
  }

  function judgeParameters(parameters: ReadonlyMap<string, string>): string | undefined {
    for (const [name, value] of parameters) {
      if (name === "SIZE") {
        if (!/^\d{1,20}$/.test(value)) return "501 5.5.4 SIZE is a number of octets";
        if (Number(value) > limits.messageBytes)
          return `552 5.3.4 at most ${limits.messageBytes} octets are taken here`;
      } else if (name === "BODY") {
        if (!/^(7BIT|8BITMIME)$/i.test(value)) return "501 5.5.4 BODY is 7BIT or 8BITMIME";
      } else if (name !== "SMTPUTF8") return `555 5.5.4 the parameter ${name.slice(0, 30)} is not known here`;
    }
    return undefined;
  }

  async function rcpt({ rest }: Command): Promise<void> {
    if (!envelope) return complain("503 5.5.1 say MAIL first");
    // Before any look at who it is for: a thousand of them must cost nothing.
    if (envelope.asked >= limits.recipients) {
      refusedRecipients += 1;
      if (refusedRecipients > maxRefusedRecipients) return hangUp("421 4.7.0 too many recipients");
      return say(`452 4.5.3 at most ${limits.recipients} recipients at a time`);
    }
    const path = readPath(rest, "TO");
    if (!path) return complain("501 5.5.4 write RCPT TO:<address>");
    if (path.parameters.size > 0) return complain("555 5.5.4 RCPT takes no parameters here");
    if (!envelope.utf8 && !/^\p{ASCII}*$/u.test(path.address))
      return complain("553 5.6.7 this address needs SMTPUTF8 with MAIL");
    const judged = await policy.recipient(path.address, { sender: envelope.sender, client });
    if ("reply" in judged) return judged.reply.startsWith("5") ? complain(judged.reply) : say(judged.reply);
    envelope.asked += 1;
    // The same mailbox twice is one recipient.
    if (!envelope.recipients.includes(judged.address)) envelope.recipients.push(judged.address);
    say("250 2.1.5 ok");
  }

  async function data({ rest }: Command): Promise<void> {
    if (!envelope) return complain("503 5.5.1 say MAIL first");
    if (rest !== "") return complain("501 5.5.4 DATA takes no parameter");
    if (envelope.recipients.length === 0) return complain("554 5.5.1 no valid recipients");
    if (input.hasMore()) return hangUp("503 5.5.0 the message was sent before it was asked for");
    const { sender, recipients } = envelope;
    say("354 end with a dot on a line of its own");
    let held = 0;
    let memoryShort = false;
    const grow = (bytes: number) => {
      if (!deps.memory.tryTake(bytes)) {
        memoryShort = true;
        return false;
      }
      held += bytes;
      return true;
    };
    try {
      const read = await input.data({
        maxBytes: limits.messageBytes,
        pauseMs: limits.dataMs,
        totalMs: limits.dataTotalMs,
        grow,
      });
      envelope = undefined;
      if (read.kind === "fault") return hangUp(faultReply(read.fault));
      if (read.kind === "timeout") return hangUp("421 4.4.2 the message did not come to its end");
      if (read.kind === "end") return hangUp();
      if (read.kind === "too large") {
        const reply = memoryShort
          ? "452 4.3.1 too much mail at this moment, try again later"
          : `552 5.3.4 at most ${limits.messageBytes} octets are taken here`;
        return read.ended ? say(reply) : hangUp(reply);
      }
      messages += 1;
      idleCommands = 0;
      const reply = await policy.message({ client: { ...client }, sender, recipients, message: read.message });
      if (reply.startsWith("5")) complain(reply);
      else say(reply);
    } finally {
      deps.memory.give(held);
    }
  }

  return { run };
}

/** Answers to recipients beyond the limit, after which a client is not taken for one that reads them. */
const maxRefusedRecipients = 1000;
