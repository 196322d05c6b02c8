/**
 * The authoritative DNS server, over UDP and TCP on one port. app/assemble/domains.ts starts it with the zones to serve.
 * Parts: authority-answer.ts computes an answer, authority-tcp.ts serves a TCP client, rate-limit.ts limits UDP answers,
 * zone.ts holds the records. Next: domains/service-zone.ts, which builds the service's own zone.
 */
import { createSocket, type Socket } from "node:dgram";
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { createServer, isIP, type Server, type Socket as TcpSocket } from "node:net";
import { createConnectionShares } from "../shares/connections.ts";
import { onlyProcess, type ProcessPart, partOf } from "../shares/process-part.ts";
import { answerPacket, type DnsReply, failureReply, slipReply } from "./authority-answer.ts";
import { serveConnection } from "./authority-tcp.ts";
import { type AnswerLimitOptions, createAnswerLimit, isLoopback } from "./rate-limit.ts";
import type { ServerAddress } from "./servers.ts";
import type { ZoneFinder } from "./zone.ts";

export type AuthorityOptions = {
  host: string;
  /** 0 picks a free port, the same for UDP and TCP. */
  port: number;
  findZone: ZoneFinder;
  /** Called for a failed zone lookup or a socket error. The server keeps running. */
  onError?: (error: unknown) => void;
  onAnswer?: (answer: { transport: "udp" | "tcp"; rcode: number }) => void;
  rateLimit?: Partial<AnswerLimitOptions>;
  /** Clients without a rate limit. Default: loopback addresses, which no remote client can forge. */
  unlimited?: (clientAddress: string) => boolean;
  /** Bound sockets of a port that other processes share. */
  sockets?: { udp: number; tcp: number };
  /** This process's part in the limits. */
  part?: ProcessPart;
  maxInFlight?: number;
  maxConnections?: number;
  idleTimeoutMs?: number;
  /** A TCP connection ends after this time, whatever its client does. */
  maxLifetimeMs?: number;
};

export type Authority = { start(): Promise<ServerAddress>; stop(): Promise<void> };

export function createAuthority(options: AuthorityOptions): Authority {
  const { findZone, onError = () => {}, onAnswer = () => {}, unlimited = isLoopback, part = onlyProcess } = options;
  const { maxInFlight = 1000, maxConnections = 256, idleTimeoutMs = 10_000, maxLifetimeMs = 120_000 } = options;
  const rateLimit = createAnswerLimit({
    answersPerSecond: 100 / part.of,
    burst: partOf(200, part),
    networks: 10_000,
    now: () => performance.now(),
    ...options.rateLimit,
  });
  let udp: Socket | undefined;
  let tcp: Server | undefined;
  let stopping = new AbortController();
  let inFlight = 0;
  const connections = createConnectionShares({
    total: partOf(maxConnections, part),
    perAddress: partOf(maxConnections / 8, part),
    factor: 3,
    exempt: unlimited,
  });

  return { start, stop };

  async function start(): Promise<ServerAddress> {
    stopping = new AbortController();
    const host = isIP(options.host) !== 0 ? options.host : (await lookup(options.host)).address;
    // A port that is free for TCP may be in use for UDP. In that case, pick another one.
    for (let attempts = options.port === 0 ? 20 : 1; ; attempts--) {
      const server = createServer({ allowHalfOpen: true }, onConnection);
      server.listen(options.sockets ? { fd: options.sockets.tcp } : { host, port: options.port });
      await once(server, "listening");
      const address = server.address();
      const port = typeof address === "object" && address !== null ? address.port : options.port;
      try {
        udp = await bindUdp(options.sockets ? { host, fd: options.sockets.udp } : { host, port });
      } catch (error) {
        server.close();
        if (attempts <= 1 || (error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
        continue;
      }
      server.on("error", onError);
      udp.on("error", onError);
      udp.on("message", (packet, client) => void onDatagram(packet, client));
      tcp = server;
      return { host, port };
    }
  }

  async function stop(): Promise<void> {
    stopping.abort();
    const [socket, server] = [udp, tcp];
    udp = undefined;
    tcp = undefined;
    if (socket) await new Promise<void>((resolve) => socket.close(() => resolve()));
    if (server) await new Promise<void>((resolve) => server.close(() => resolve()));
  }

  /** An address may have an eighth of the connections. On a full port, an idle connection of the largest holder is closed. */
  function onConnection(socket: TcpSocket): void {
    const address = socket.remoteAddress;
    if (address === undefined) return void socket.destroy();
    const idle = { idleMs: () => served?.idleMs(), giveWay: () => void socket.destroy() };
    const release = connections.admit(address, idle);
    if (!release) return void socket.destroy();
    socket.on("close", release);
    const served = serveConnection(socket, {
      answer,
      idleTimeoutMs,
      lifetimeMs: maxLifetimeMs,
      onError,
      signal: stopping.signal,
    });
  }

  async function onDatagram(packet: Buffer, client: { address: string; port: number }): Promise<void> {
    if (inFlight >= maxInFlight) return;
    inFlight += 1;
    try {
      const verdict = unlimited(client.address) ? "answer" : rateLimit.judge(client.address);
      if (verdict === "drop") return;
      const reply = verdict === "slip" ? slipReply(packet) : await answerOrFail(packet, "udp");
      if (reply === undefined || udp === undefined) return;
      onAnswer({ transport: "udp", rcode: reply.rcode });
      udp.send(reply.bytes, client.port, client.address, (error) => {
        if (error) onError(error);
      });
    } catch (error) {
      // Sending throws for a forged source address, such as port 0.
      onError(error);
    } finally {
      inFlight -= 1;
    }
  }

  async function answer(packet: Buffer): Promise<Buffer | undefined> {
    const reply = await answerOrFail(packet, "tcp");
    if (reply) onAnswer({ transport: "tcp", rcode: reply.rcode });
    return reply?.bytes;
  }

  async function answerOrFail(packet: Buffer, transport: "udp" | "tcp"): Promise<DnsReply | undefined> {
    try {
      return await answerPacket(packet, transport, findZone);
    } catch (error) {
      onError(error);
      return failureReply(packet, transport);
    }
  }
}

async function bindUdp(at: { host: string } & ({ port: number } | { fd: number })): Promise<Socket> {
  const socket = createSocket({ type: isIP(at.host) === 6 ? "udp6" : "udp4" });
  // A socket that is bound already is listening at once.
  const listening = once(socket, "listening");
  socket.bind("fd" in at ? { fd: at.fd } : { address: at.host, port: at.port });
  await listening;
  return socket;
}
