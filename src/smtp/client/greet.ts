/** Opens a client session: banner, EHLO or HELO, STARTTLS, AUTH. session.ts calls it once per connection. */
import net from "node:net";
import { type SmtpConnection, SmtpConnectionError } from "./connection.ts";
import type { DaneResult } from "./dane.ts";
import { checkDane, daneOptions } from "./dane-check.ts";
import type { Evidence, Phase, Reply } from "./evidence.ts";
import type { Target, Timeouts } from "./target.ts";

/** Keyword to parameters, both in upper case, from the server's last EHLO reply; empty after HELO. */
export type Extensions = ReadonlyMap<string, readonly string[]>;

export interface TlsFacts {
  protocol: string;
  cipher: string;
  authorized: boolean;
  authorizationError: string | null;
  /** How the connection met the host's DANE policy; absent without one. */
  dane?: DaneResult;
}

/** A target with the trust anchors that OpenSSL verifies the server with, once they are known (dane-check.ts). */
export type GreetTarget = Target & { anchors?: readonly Buffer[] };

export type Greeted = { extensions: Extensions; tls: TlsFacts | null };

/** Ends the opening. `openSession` returns its evidence to the caller. */
export class GreetError extends Error {
  override readonly name = "GreetError";
  readonly evidence: Evidence;
  constructor(evidence: Evidence) {
    super(evidence.kind);
    this.evidence = evidence;
  }
}

export async function greet(
  connection: SmtpConnection,
  target: GreetTarget,
  timeouts: Timeouts,
  enter: (phase: Phase) => void,
): Promise<Greeted> {
  let tls: TlsFacts | null = null;
  if (target.implicitTls) {
    enter("tls");
    tls = await secure(connection, target, timeouts);
  }
  enter("banner");
  const banner = await connection.read(timeouts.bannerMs);
  if (banner.code !== 220) throw refused("banner", banner);
  enter("ehlo");
  let extensions = await hello(connection, target, timeouts);
  if (!tls && target.tls !== "none") {
    if (extensions.has("STARTTLS")) {
      enter("tls");
      tls = await startTls(connection, target, timeouts);
      enter("ehlo");
      // RFC 3207 §4.2: the client must discard what it learned before TLS.
      extensions = await hello(connection, target, timeouts);
    } else if (target.tls !== "opportunistic") {
      throw tlsFailed(target, "the server does not offer STARTTLS", null);
    }
  }
  if (target.auth) {
    enter("auth");
    await authenticate(connection, target.auth, { extensions, encrypted: tls !== null, timeouts });
  }
  return { extensions, tls };
}

async function hello(connection: SmtpConnection, target: Target, timeouts: Timeouts): Promise<Extensions> {
  connection.command(`EHLO ${target.heloName}`);
  const reply = await connection.read(timeouts.ehloMs);
  if (reply.code === 250) return readExtensions(reply);
  // RFC 5321 §3.2: a server without extensions refuses EHLO, and the client then sends HELO.
  if (reply.code < 500) throw refused("ehlo", reply);
  connection.command(`HELO ${target.heloName}`);
  const second = await connection.read(timeouts.ehloMs);
  if (second.code !== 250) throw refused("ehlo", second);
  return new Map();
}

export function readExtensions(reply: Reply): Extensions {
  const extensions = new Map<string, readonly string[]>();
  // The first line names the server, RFC 5321 §4.1.1.1.
  for (const line of reply.text.split("\n").slice(1)) {
    // Some servers still send the pre-standard form "AUTH=PLAIN LOGIN".
    const [keyword, ...parameters] = line
      .toUpperCase()
      .replace(/^AUTH=/, "AUTH ")
      .trim()
      .split(/\s+/);
    if (keyword) extensions.set(keyword, [...(extensions.get(keyword) ?? []), ...parameters]);
  }
  return extensions;
}

async function startTls(connection: SmtpConnection, target: GreetTarget, timeouts: Timeouts): Promise<TlsFacts> {
  connection.command("STARTTLS");
  const reply = await connection.read(timeouts.tlsMs);
  if (reply.code !== 220) throw tlsFailed(target, "the server refused STARTTLS", reply);
  return secure(connection, target, timeouts);
}

async function secure(connection: SmtpConnection, target: GreetTarget, timeouts: Timeouts): Promise<TlsFacts> {
  const { dane } = target;
  // Unusable records say nothing about the certificate, so that MTA-STS and requireTls check it for the MX host as usual.
  const name = (dane && dane.records.length > 0 ? dane.base : target.tlsName) ?? target.host;
  const socket = await connection
    // The certificate is checked below, so that its error is reported for every TLS policy. No session is ever resumed: without a
    // certificate in the handshake, these checks would have nothing to check.
    .secure(
      {
        host: name,
        servername: net.isIP(name) ? "" : name,
        rejectUnauthorized: false,
        minVersion: "TLSv1.2",
        ca: target.tlsCa,
        ...(dane && daneOptions(dane, target.anchors)),
      },
      timeouts.tlsMs,
    )
    .catch((error: unknown) => {
      if (!(error instanceof SmtpConnectionError)) throw error;
      const { kind, message } = error.failure;
      throw kind === "lost" || kind === "timeout" ? tlsFailed(target, message, null) : error;
    });
  const facts: TlsFacts = {
    protocol: socket.getProtocol() ?? "",
    cipher: socket.getCipher().name,
    authorized: socket.authorized,
    authorizationError: socket.authorized ? null : describe(socket.authorizationError),
  };
  const checked = dane && checkDane(socket, dane, target.anchors);
  if (checked && "mismatch" in checked) throw tlsFailed(target, checked.mismatch, null);
  if (checked?.result === "match" || checked?.result === "ta-match") return { ...facts, dane: checked.result };
  if (target.tls === "verified" && !facts.authorized) {
    const message = `the server's certificate is not valid for ${name}: ${facts.authorizationError}`;
    throw new GreetError({ kind: "tls", phase: "tls", reply: null, message });
  }
  return checked ? { ...facts, dane: checked.result } : facts;
}

function describe(error: unknown): string {
  return error instanceof Error ? ((error as NodeJS.ErrnoException).code ?? error.message) : String(error);
}

async function authenticate(
  connection: SmtpConnection,
  auth: NonNullable<Target["auth"]>,
  session: { extensions: Extensions; encrypted: boolean; timeouts: Timeouts },
): Promise<void> {
  const fail = (message: string) => new GreetError({ kind: "protocol", phase: "auth", message });
  if (!session.encrypted && !auth.allowPlaintext)
    throw fail("the connection has no TLS, and the password is not sent without it");
  const mechanisms = session.extensions.get("AUTH") ?? [];
  const send = async (line: string) => {
    connection.command(line);
    return connection.read(session.timeouts.authMs);
  };
  let reply: Reply;
  if (mechanisms.includes("PLAIN")) {
    reply = await send(`AUTH PLAIN ${base64(`\0${auth.user}\0${auth.password}`)}`);
  } else if (mechanisms.includes("LOGIN")) {
    reply = await send("AUTH LOGIN");
    if (reply.code === 334) reply = await send(base64(auth.user));
    if (reply.code === 334) reply = await send(base64(auth.password));
  } else {
    throw fail(`the server offers neither AUTH PLAIN nor LOGIN (${mechanisms.join(" ") || "no AUTH"})`);
  }
  if (reply.code !== 235) throw refused("auth", reply);
}

function base64(text: string): string {
  return Buffer.from(text, "utf8").toString("base64");
}

/** The evidence of a reply that is not the expected one. A reply below 400 is a protocol error, not a refusal. */
export function refusal(phase: Phase, reply: Reply): Evidence {
  if (reply.code >= 400) return { kind: "refused", phase, reply };
  return { kind: "protocol", phase, message: `unexpected reply: ${reply.line}` };
}

function refused(phase: Phase, reply: Reply): GreetError {
  return new GreetError(refusal(phase, reply));
}

function tlsFailed({ dane }: Target, message: string, reply: Reply | null): GreetError {
  if (!dane) return new GreetError({ kind: "tls", phase: "tls", reply, message });
  // The event shows one text: the server's reply alone would not say that DANE forbids plaintext.
  const because = `DANE: ${message}${reply ? ` (${reply.line})` : ""}, but the TLSA records of ${dane.base} require TLS`;
  return new GreetError({ kind: "tls", phase: "tls", reply: null, message: because, dane: true });
}
