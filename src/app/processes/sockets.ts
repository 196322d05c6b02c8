/** The sockets of the ports that all processes share. The supervisor binds them and never reads from them; each process inherits them and listens. So a
 * port stays open, with the connections that wait to be accepted, while any process ends or starts. Used by supervisor.ts. */
import dgram from "node:dgram";
import { lookup } from "node:dns/promises";
import net, { isIP } from "node:net";
import { getSystemErrorName } from "node:util";
import type { Config, Listener } from "../config.ts";
import type { Descriptors, SharedPort } from "./messages.ts";

/** A bound socket that is not read. node:cluster makes its sockets in the same way. */
type Handle = { fd: number; getsockname(out: { port?: number }): number; close(): void };
type Internals = {
  _createServerHandle(host: string, port: number, family: 4 | 6): Handle | number;
  _createSocketHandle(host: string, port: number, type: "udp4" | "udp6"): Handle | number;
};

export type SharedSockets = {
  /** The descriptor in this process, and its port. */
  bound: Map<SharedPort, { fd: number; port: number }>;
  close(): void;
};

type At = { host: string; port: number };
type Log = { warn(fields: object, message: string): void };

/** Binds what the roles need. Throws like a server's `listen` when a port is taken. */
export async function bindSockets(config: Config, log: Log): Promise<SharedSockets> {
  const bound: SharedSockets["bound"] = new Map();
  const handles: Handle[] = [];
  const keep = (name: SharedPort, handle: Handle): number => {
    handles.push(handle);
    const port = portOf(handle);
    bound.set(name, { fd: handle.fd, port });
    return port;
  };
  const close = () => {
    for (const handle of handles) handle.close();
  };
  try {
    if (config.roles.has("dns")) await bindDns(config.dns, keep);
    if (config.roles.has("inbound")) keep("smtp", await bindTcp(config.smtp));
    if (config.roles.has("api")) {
      keep("http", await bindTcp(config.http));
      for (const name of ["submission", "submissions"] as const) await bindChosen(name, config[name], { keep, log });
    }
    return { bound, close };
  } catch (error) {
    close();
    throw error;
  }
}

/** The position of each socket in the child's `stdio`, which is its descriptor there. */
export function inherit(
  { bound }: SharedSockets,
  firstDescriptor: number,
): { descriptors: Descriptors; fds: number[] } {
  const names = [...bound.keys()];
  return {
    descriptors: Object.fromEntries(names.map((name, i) => [name, firstDescriptor + i])),
    fds: names.map((name) => bound.get(name)!.fd),
  };
}

type Keep = (name: SharedPort, handle: Handle) => number;

/** Like a single program, several on one machine keep working: a default port that is taken is replaced by a free one. */
async function bindChosen(
  name: SharedPort,
  listener: Listener,
  { keep, log }: { keep: Keep; log: Log },
): Promise<void> {
  if (!listener) return;
  try {
    keep(name, await bindTcp(listener));
  } catch (error) {
    if (listener.chosen || (error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
    const port = keep(name, await bindTcp({ host: listener.host, port: 0 }));
    log.warn({ taken: listener.port, port }, "the default port for submission is taken; using a free one");
  }
}

/** A port that is free for TCP may be in use for UDP. In that case, another one is picked. */
async function bindDns(at: At, keep: Keep): Promise<void> {
  for (let attempts = at.port === 0 ? 20 : 1; ; attempts--) {
    const tcp = await bindTcp(at);
    try {
      const udp = await bindUdp({ host: at.host, port: portOf(tcp) });
      keep("dnsTcp", tcp);
      keep("dnsUdp", udp);
      return;
    } catch (error) {
      tcp.close();
      if (attempts <= 1 || (error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
    }
  }
}

async function bindTcp(at: At): Promise<Handle> {
  const { host, family } = await resolved(at.host);
  return must(internals(net)._createServerHandle(host, at.port, family), at);
}

async function bindUdp(at: At): Promise<Handle> {
  const { host, family } = await resolved(at.host);
  // Node warns of this function, because a program that reads should use a Socket. There is no other way to bind without reading.
  const { noDeprecation } = process;
  process.noDeprecation = true;
  try {
    return must(internals(dgram)._createSocketHandle(host, at.port, family === 6 ? "udp6" : "udp4"), at);
  } finally {
    process.noDeprecation = noDeprecation;
  }
}

async function resolved(host: string): Promise<{ host: string; family: 4 | 6 }> {
  const known = isIP(host);
  if (known !== 0) return { host, family: known as 4 | 6 };
  const { address, family } = await lookup(host);
  return { host: address, family: family as 4 | 6 };
}

const internals = (module: unknown) => module as Internals;

/** A negative number is an error of the system. */
function must(handle: Handle | number, at: At): Handle {
  if (typeof handle === "number") throw listenError(handle, at);
  // libuv reports a TCP port that is in use only at the next call. A socket without a port would listen on a random one.
  const error = handle.getsockname({});
  if (error === 0) return handle;
  handle.close();
  throw listenError(error, at);
}

function listenError(error: number, { host, port }: At): Error {
  const code = getSystemErrorName(error);
  const reason = code === "EADDRINUSE" ? "address already in use" : code;
  return Object.assign(new Error(`listen ${code}: ${reason} ${host}:${port}`), { code, syscall: "listen" });
}

function portOf(handle: Handle): number {
  const at: { port?: number } = {};
  handle.getsockname(at);
  return at.port!;
}
