/** The check of the listeners in posthorn doctor: if the program runs, they must answer; otherwise their ports must be free. */
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:net";
import { createResolver } from "../../../dns/resolver.ts";
import type { Config } from "../../config.ts";
import type { Listen } from "../../config-shapes.ts";
import { type Ports, runningPorts } from "../../files.ts";
import type { NodeRole } from "../../settings.ts";
import type { Finding } from "./finding.ts";
import { greetingOf, tlsGreetingOf } from "./network.ts";

type Listener = {
  check: string;
  setting: string;
  /** Undefined: every node has this listener. */
  role?: NodeRole;
  listen: Listen;
  /** The actual port, if the program runs. */
  port: number | undefined;
  udp?: true;
  probe(at: Listen): Promise<string>;
};

/** A default port that is taken is no problem: the program then uses a free one. */
function submissionListeners(config: Config, running: Ports | undefined): Listener[] {
  const both = [
    {
      check: "submission",
      setting: "POSTHORN_SUBMISSION",
      listener: config.submission,
      port: running?.submission,
      probe: greetingOf,
    },
    {
      check: "submissions",
      setting: "POSTHORN_SUBMISSIONS",
      listener: config.submissions,
      port: running?.submissions,
      probe: tlsGreetingOf,
    },
  ];
  return both.flatMap(({ listener, ...one }) =>
    listener && (running || listener.chosen) ? [{ ...one, role: "api" as const, listen: listener }] : [],
  );
}

export async function portChecks(config: Config): Promise<Finding[]> {
  const running = await runningPorts(config.dataDir);
  const listeners: Listener[] = [
    {
      check: "http",
      setting: "POSTHORN_HTTP",
      role: "api",
      listen: config.http,
      port: running?.http,
      probe: probeHttp,
    },
    {
      check: "smtp",
      setting: "POSTHORN_SMTP",
      role: "inbound",
      listen: config.smtp,
      port: running?.smtp,
      probe: greetingOf,
    },
    ...submissionListeners(config, running),
    {
      check: "dns",
      setting: "POSTHORN_DNS",
      role: "dns",
      listen: config.dns,
      port: running?.dns,
      udp: true,
      probe: (at) => probeDns(at, config.zone),
    },
  ];
  // If the default operations port is taken, the program uses a free one, so that is not a problem.
  if (running || config.ops.chosen)
    listeners.push({ check: "ops", setting: "POSTHORN_OPS", listen: config.ops, port: running?.ops, probe: probeHttp });
  const ownListeners = listeners.filter(({ role }) => role === undefined || config.roles.has(role));
  return await Promise.all(ownListeners.map((listener) => (running ? checkAnswers(listener) : checkFree(listener))));
}

async function checkAnswers({ check, setting, listen, port, probe }: Listener): Promise<Finding> {
  const at = { host: reachable(listen.host), port: port ?? listen.port };
  const shown = `${at.host}:${at.port}`;
  try {
    return { check, result: "ok", found: `${shown} ${await probe(at)}` };
  } catch (error) {
    return {
      check,
      result: "fail",
      found: `${shown} does not answer: ${(error as Error).message}`,
      fix: `Check the log, the firewall, and whether the program runs with another ${setting}.`,
    };
  }
}

async function checkFree({ check, setting, listen, udp }: Listener): Promise<Finding> {
  const shown = `${listen.host}:${listen.port}`;
  try {
    await bindTcp(listen);
    if (udp) await bindUdp(listen);
    return { check, result: "ok", found: `${shown} is free` };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const fixes: Record<string, string> = {
      EADDRINUSE: `Another program uses it: stop that program, or set ${setting} to another port.`,
      EACCES: `Ports below 1024 need a capability: use the systemd unit in deploy/, or run setcap cap_net_bind_service=+ep on node.`,
      EADDRNOTAVAIL: `This machine does not have that address: correct ${setting}.`,
    };
    return {
      check,
      result: "fail",
      found: `${shown} cannot be used: ${message}`,
      fix: fixes[code ?? ""] ?? `Correct ${setting}.`,
    };
  }
}

async function probeHttp({ host, port }: Listen): Promise<string> {
  const answer = await fetch(`http://${host.includes(":") ? `[${host}]` : host}:${port}/readyz`, {
    signal: AbortSignal.timeout(5000),
  });
  if (!answer.ok) throw new Error(`not ready: ${(await answer.text()).trim()}`);
  return "is ready";
}

async function probeDns(at: Listen, zone: string): Promise<string> {
  const resolver = createResolver({ servers: [at] });
  try {
    const found = await resolver.lookup(zone, "SOA", { timeoutMs: 5000 });
    if (found.kind !== "found") throw new Error(`no SOA record for ${zone}: ${found.kind}`);
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

/** A server that listens on all addresses is reached over loopback. */
function reachable(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  return host === "::" ? "::1" : host;
}
