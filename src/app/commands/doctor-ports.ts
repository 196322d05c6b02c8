/** The listeners as posthorn doctor sees them: where the program runs they must answer, elsewhere their ports must be free. */
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:net";
import { createResolver } from "../../dns/resolver.ts";
import type { Config, Role } from "../config.ts";
import type { Listen } from "../config-shapes.ts";
import { runningPorts } from "../files.ts";
import type { Finding } from "./doctor.ts";
import { greetingOf } from "./doctor-network.ts";

type Listener = {
  check: string;
  setting: string;
  /** Undefined: every node has it. */
  role?: Role;
  listen: Listen;
  port: number | undefined;
  udp?: true;
  ask(at: Listen): Promise<string>;
};

export async function portChecks(config: Config): Promise<Finding[]> {
  const running = await runningPorts(config.dataDir);
  const listeners: Listener[] = [
    { check: "http", setting: "POSTHORN_HTTP", role: "api", listen: config.http, port: running?.http, ask: askHttp },
    {
      check: "smtp",
      setting: "POSTHORN_SMTP",
      role: "inbound",
      listen: config.smtp,
      port: running?.smtp,
      ask: greetingOf,
    },
    {
      check: "dns",
      setting: "POSTHORN_DNS",
      role: "dns",
      listen: config.dns,
      port: running?.dns,
      udp: true,
      ask: (at) => askDns(at, config.zone),
    },
  ];
  // A default port that is taken is no problem: the program takes another.
  if (running || config.ops.chosen)
    listeners.push({ check: "ops", setting: "POSTHORN_OPS", listen: config.ops, port: running?.ops, ask: askHttp });
  const mine = listeners.filter(({ role }) => role === undefined || config.roles.has(role));
  return await Promise.all(mine.map((listener) => (running ? answering(listener) : free(listener))));
}

async function answering({ check, setting, listen, port, ask }: Listener): Promise<Finding> {
  const at = { host: reachable(listen.host), port: port ?? listen.port };
  const shown = `${at.host}:${at.port}`;
  try {
    return { check, result: "ok", found: `${shown} ${await ask(at)}` };
  } catch (error) {
    return {
      check,
      result: "fail",
      found: `${shown} does not answer: ${(error as Error).message}`,
      fix: `Look into the log; a firewall or another ${setting} may be the cause.`,
    };
  }
}

async function free({ check, setting, listen, udp }: Listener): Promise<Finding> {
  const shown = `${listen.host}:${listen.port}`;
  try {
    await bindTcp(listen);
    if (udp) await bindUdp(listen);
    return { check, result: "ok", found: `${shown} is free` };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const fixes: Record<string, string> = {
      EADDRINUSE: `Another program has it: end that one, or set ${setting} to another port.`,
      EACCES: `Ports below 1024 need a right: run under the systemd unit in deploy/, or setcap cap_net_bind_service=+ep on node.`,
      EADDRNOTAVAIL: `This machine has no such address: correct ${setting}.`,
    };
    return {
      check,
      result: "fail",
      found: `${shown} cannot be used: ${message}`,
      fix: fixes[code ?? ""] ?? `Correct ${setting}.`,
    };
  }
}

async function askHttp({ host, port }: Listen): Promise<string> {
  const answer = await fetch(`http://${host.includes(":") ? `[${host}]` : host}:${port}/readyz`, {
    signal: AbortSignal.timeout(5000),
  });
  if (!answer.ok) throw new Error(`not ready: ${(await answer.text()).trim()}`);
  return "is ready";
}

async function askDns(at: Listen, zone: string): Promise<string> {
  const resolver = createResolver({ servers: [at] });
  try {
    const found = await resolver.lookup(zone, "SOA", { timeoutMs: 5000 });
    if (found.kind !== "found") throw new Error(`no SOA of ${zone}: ${found.kind}`);
    return `answers for ${zone}`;
  } finally {
    resolver.stop();
  }
}

async function bindTcp({ host, port }: Listen): Promise<void> {
  const server = createServer().listen({ host, port, exclusive: true });
  await once(server, "listening");
  await new Promise((resolve) => server.close(resolve));
}

async function bindUdp({ host, port }: Listen): Promise<void> {
  const socket = createSocket(host.includes(":") ? "udp6" : "udp4").bind({ address: host, port, exclusive: true });
  await once(socket, "listening");
  await new Promise<void>((resolve) => socket.close(() => resolve()));
}

/** A server on all addresses is reached on this machine's own. */
function reachable(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  return host === "::" ? "::1" : host;
}
