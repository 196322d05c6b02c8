/**
 * Reads DATABASE_URL. Next to what node-postgres understands, it may name several hosts, as libpq allows. config.ts validates the setting
 * with `readDatabaseUrl`, hosts.ts connects. Messages never contain the URL, because it contains the password.
 */
import type { ClientConfig } from "pg";

/** `host` is a name, an address, or the directory of a socket. */
export type HostAddress = { host: string; port: number };

export type DatabaseUrl = {
  /** For node-postgres. With several hosts, it names the first one. */
  config: ClientConfig;
  hosts: readonly HostAddress[];
};

/** What is wrong with the URL, and what to write instead. */
export class InvalidDatabaseUrl extends Error {}

const defaultPort = 5432;
/** The authority ends at the path or the parameters. As in a URL, its last @ ends user and password. */
const pattern = /^(postgres(?:ql)?:\/\/)((?:[^/?#]*@)?)([^/?#]*)([^?#]*)(?:\?([^#]*))?(?:#.*)?$/i;

export function readDatabaseUrl(text: string): DatabaseUrl {
  const [, scheme, login, authority, path, query] = pattern.exec(text) ?? invalid(notUrl);
  if (repeatedLogin.test(login!)) invalid(`names user and password more than once: ${exampleOfSeveral}`);
  const parameters = new URLSearchParams(query);
  // As in libpq, a parameter replaces what stands before the path.
  const listed = listOf(parameters, "host");
  const names = listed.length > 1 ? listed : authority!.split(",");
  if (names.length === 1) return oneHost(text);
  if (login === "" && path!.includes("@")) invalid(unescaped);
  requireWriting(parameters.get("target_session_attrs"));
  const hosts = unique(listed.length > 1 ? withPorts(listed, listOf(parameters, "port")) : names.map(readHost));
  const [first] = hosts;
  for (const name of ["host", "port", "target_session_attrs"]) parameters.delete(name);
  const rest = parameters.size > 0 ? `?${parameters}` : "";
  return { config: oneHost(`${scheme}${login}${formatHost(first!)}${path}${rest}`).config, hosts };
}

/** user:password@host1,user:password@host2 */
const repeatedLogin = /@[\w.-]+(:\d+)?,[\w.%-]+:[^@]*@/;

const unescaped =
  "has a / in the user name or password: write %2F instead, and %3F, %23, %40 and %2C for the characters ?, #, @ and the comma";
const notUrl =
  "must be a URL starting with postgres:// or postgresql://; write for example postgres://user:password@db.example.com:5432/posthorn";
const exampleOfSeveral = "write for example postgres://user:password@db1:5432,db2:5432,db3:5432/posthorn";

function oneHost(text: string): DatabaseUrl {
  if (!URL.canParse(text)) invalid(notUrl);
  const { hostname, port, searchParams } = new URL(text);
  const config = configOf(text);
  const host = config.host ?? searchParams.get("host") ?? decodeURIComponent(hostname).replace(/^\[(.+)\]$/, "$1");
  return { config, hosts: [{ host, port: Number(searchParams.get("port") || port || defaultPort) }] };
}

/** node-postgres does not read a socket from a URL, so its directory is passed as the host. */
function configOf(url: string): ClientConfig {
  const { path } = socketOptions(url);
  if (path === undefined) return { connectionString: url };
  const { username, password, pathname, port, searchParams } = new URL(url);
  const name = searchParams.get("application_name");
  return {
    host: path.slice(0, path.lastIndexOf("/")),
    port: Number(port || defaultPort),
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    database: decodeURIComponent(pathname.slice(1)),
    ...(name === null ? {} : { application_name: name }),
  };
}

function listOf(parameters: URLSearchParams, name: string): string[] {
  return parameters.get(name)?.split(",") ?? [];
}

function readHost(text: string): HostAddress {
  if (!URL.canParse(`postgres://${text}`)) invalid(badHost(text));
  const [, v6, name, port = ""] =
    /^(?:\[([0-9a-f:.%]+)\]|([^:[\]]+))(?::(\d*))?$/i.exec(text) ?? invalid(badHost(text));
  return { host: v6 ?? decodeURIComponent(name!), port: readPort(port) };
}

/** As in libpq, one port is for all hosts, and an empty one is the default. */
function withPorts(names: readonly string[], ports: readonly string[]): HostAddress[] {
  if (ports.length > 1 && ports.length !== names.length)
    invalid(`names ${names.length} hosts and ${ports.length} ports: name one port for all hosts, or one for each`);
  return names.map((host, i) => {
    if (host === "") invalid(badHost(host));
    return { host, port: readPort((ports.length === 1 ? ports[0] : ports[i]) ?? "") };
  });
}

function readPort(text: string): number {
  const port = text === "" ? defaultPort : Number(text);
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    invalid(`names the port ${JSON.stringify(text)}, which is not a number from 1 to 65535`);
  return port;
}

function badHost(text: string): string {
  if (text === "") return `has an empty name in its list of hosts; ${exampleOfSeveral}`;
  return `names the host ${JSON.stringify(text)}, which is not host:port; ${exampleOfSeveral}, and an IPv6 address in brackets`;
}

function unique(hosts: readonly HostAddress[]): HostAddress[] {
  return [...new Map(hosts.map((host) => [formatHost(host), host])).values()];
}

/** Host and port as a URL has them. */
export function formatHost({ host, port }: HostAddress): string {
  const name = host.includes(":") ? `[${host}]` : host.startsWith("/") ? encodeURIComponent(host) : host;
  return `${name}:${port}`;
}

function requireWriting(wanted: string | null): void {
  if (wanted === null || wanted === "read-write" || wanted === "primary") return;
  invalid(
    `has target_session_attrs=${wanted.slice(0, 40)}, but Posthorn writes, so it always looks for the primary: remove the parameter, or write read-write`,
  );
}

function invalid(message: string): never {
  throw new InvalidDatabaseUrl(message);
}

/** The path of the socket in a URL, which node-postgres does not read from it; `{}` for a URL with a host name. */
export function socketOptions(url: string): { path?: string } {
  // A list of several hosts is not a socket.
  if (!URL.canParse(url)) return {};
  const { hostname, port } = new URL(url);
  const directory = decodeURIComponent(hostname);
  return directory.startsWith("/") ? { path: `${directory}/.s.PGSQL.${port || "5432"}` } : {};
}
