/** The opening of a client session: banner, EHLO or HELO, STARTTLS, AUTH. The client calls it once per connection. */
import net from "node:net";
import type { TLSSocket } from "node:tls";
import type { Evidence, Phase, Reply } from "../rules/outcome-evidence.ts";
import type { Target } from "./target.ts";
import type { Timeouts } from "./timeouts.ts";
import { type Wire, WireError } from "./wire.ts";

/** Keyword to parameters, both in upper case, as the server's last EHLO reply listed them; empty after HELO. */
export type Extensions = ReadonlyMap<string, readonly string[]>;

export interface TlsFacts {
  protocol: string;
  cipher: string;
  authorized: boolean;
  authorizationError: string | null;
}

export type Greeted = { extensions: Extensions; tls: TlsFacts | null };

/** Ends the opening with a reason that is a value for the caller. */
export class GreetError extends Error {
  override readonly name = "GreetError";
  readonly evidence: Evidence;
  constructor(evidence: Evidence) {
    super(evidence.kind);
    this.evidence = evidence;
  }
}

export async function greet(
  wire: Wire,
  target: Target,
  timeouts: Timeouts,
  enter: (phase: Phase) => void,
): Promise<Greeted> {
  let tls: TlsFacts | null = null;
  if (target.implicitTls) {
    enter("tls");
    tls = await secure(wire, target, timeouts);
  }
  enter("banner");
  const banner = await wire.read(timeouts.bannerMs);
  if (banner.code !== 220) throw refused("banner", banner);
  enter("ehlo");
  let extensions = await hello(wire, target, timeouts);
  if (!tls && target.tls !== "none") {
    if (extensions.has("STARTTLS")) {
      enter("tls");
      tls = await startTls(wire, target, timeouts);
      enter("ehlo");
      // RFC 3207 §4.2: what was learnt in clear is forgotten.
      extensions = await hello(wire, target, timeouts);
    } else if (target.tls !== "opportunistic") {
      throw tlsFailed("the server does not offer STARTTLS", null);
    }
  }
  if (target.auth) {
    enter("auth");
    await authenticate(wire, target.auth, { extensions, encrypted: tls !== null, timeouts });
  }
  return { extensions, tls };
}

async function hello(wire: Wire, target: Target, timeouts: Timeouts): Promise<Extensions> {
  wire.command(`EHLO ${target.heloName}`);
  const reply = await wire.read(timeouts.ehloMs);
  if (reply.code === 250) return readExtensions(reply);
  // RFC 5321 §3.2: a server without extensions refuses EHLO, the client then says HELO.
  if (reply.code < 500) throw refused("ehlo", reply);
  wire.command(`HELO ${target.heloName}`);
  const second = await wire.read(timeouts.ehloMs);
  if (second.code !== 250) throw refused("ehlo", second);
  return new Map();
}

export function readExtensions(reply: Reply): Extensions {
  const extensions = new Map<string, readonly string[]>();
  // The first line names the server, RFC 5321 §4.1.1.1.
  for (const line of reply.text.split("\n").slice(1)) {
    // "AUTH=PLAIN LOGIN" is how servers wrote it before the standard.
    const [keyword, ...parameters] = line
      .toUpperCase()
      .replace(/^AUTH=/, "AUTH ")
      .trim()
      .split(/\s+/);
    if (keyword) extensions.set(keyword, [...(extensions.get(keyword) ?? []), ...parameters]);
  }
  return extensions;
}

async function startTls(wire: Wire, target: Target, timeouts: Timeouts): Promise<TlsFacts> {
  wire.command("STARTTLS");
  const reply = await wire.read(timeouts.tlsMs);
  if (reply.code !== 220) throw tlsFailed("the server refused STARTTLS", reply);
  return secure(wire, target, timeouts);
}

async function secure(wire: Wire, target: Target, timeouts: Timeouts): Promise<TlsFacts> {
  const name = target.tlsName ?? target.host;
  let socket: TLSSocket;
  try {
    // The certificate is judged below, so that what was wrong with it can be reported either way.
    socket = await wire.secure(
      {
        host: name,
        servername: net.isIP(name) ? "" : name,
        rejectUnauthorized: false,
        minVersion: "TLSv1.2",
        ca: target.tlsCa,
      },
      timeouts.tlsMs,
    );
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    const { kind, message } = error.failure;
    throw kind === "lost" || kind === "timeout" ? tlsFailed(message, null) : error;
  }
  const facts = {
    protocol: socket.getProtocol() ?? "",
    cipher: socket.getCipher().name,
    authorized: socket.authorized,
    authorizationError: socket.authorized ? null : describe(socket.authorizationError),
  };
  if (target.tls === "verified" && !facts.authorized) {
    throw tlsFailed(`the certificate does not prove ${name}: ${facts.authorizationError}`, null);
  }
  return facts;
}

function describe(error: unknown): string {
  return error instanceof Error ? ((error as NodeJS.ErrnoException).code ?? error.message) : String(error);
}

async function authenticate(
  wire: Wire,
  auth: NonNullable<Target["auth"]>,
  session: { extensions: Extensions; encrypted: boolean; timeouts: Timeouts },
): Promise<void> {
  const fail = (message: string) => new GreetError({ kind: "protocol", phase: "auth", message });
  if (!session.encrypted && !auth.allowPlaintext) throw fail("AUTH is sent only over TLS");
  const mechanisms = session.extensions.get("AUTH") ?? [];
  const ask = async (line: string) => {
    wire.command(line);
    return wire.read(session.timeouts.authMs);
  };
  let reply: Reply;
  if (mechanisms.includes("PLAIN")) {
    reply = await ask(`AUTH PLAIN ${base64(`\0${auth.user}\0${auth.password}`)}`);
  } else if (mechanisms.includes("LOGIN")) {
    reply = await ask("AUTH LOGIN");
    if (reply.code === 334) reply = await ask(base64(auth.user));
    if (reply.code === 334) reply = await ask(base64(auth.password));
  } else {
    throw fail(`the server offers neither AUTH PLAIN nor LOGIN (${mechanisms.join(" ") || "no AUTH"})`);
  }
  if (reply.code !== 235) throw refused("auth", reply);
}

function base64(text: string): string {
  return Buffer.from(text, "utf8").toString("base64");
}

/** A reply that is neither the one wanted nor an error belongs to a server that does not follow the protocol. */
export function refusal(phase: Phase, reply: Reply): Evidence {
  if (reply.code >= 400) return { kind: "refused", phase, reply };
  return { kind: "protocol", phase, message: `unexpected reply: ${reply.line}` };
}

function refused(phase: Phase, reply: Reply): GreetError {
  return new GreetError(refusal(phase, reply));
}

function tlsFailed(message: string, reply: Reply | null): GreetError {
  return new GreetError({ kind: "tls", phase: "tls", reply, message });
}
