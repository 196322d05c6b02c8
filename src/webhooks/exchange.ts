/** Sends one HTTP request to one IP address, with limits on the response, and keeps a limited number of idle connections (`createAgents`).
 * Called by post.ts, which chooses the addresses and the timeout. */
import http, { type IncomingMessage } from "node:http";
import https from "node:https";
import { isIP } from "node:net";
import type { Duplex } from "node:stream";
import type { Ending } from "./ending.ts";
import type { WebhookTarget } from "./rules/url.ts";

export type ExchangeOptions = {
  target: WebhookTarget;
  /** The IP address to connect to. There is no further DNS lookup. */
  address: string;
  path: string;
  /** All headers, with host and content-length: names and values in turn, which Node sends as they are. */
  headers: readonly string[];
  body: string;
  agent: http.Agent | false;
  /** When it ends the request, the result has the message of its reason as the error. */
  ending: Ending;
  /** The time limit for the connection; undefined for the last address, which has no other limit than `ending`. */
  connectMs: number | undefined;
};

export type HttpResult = {
  /** Undefined when no response header arrived. */
  status: number | undefined;
  location: string | undefined;
  /** Status line and headers, one per line. Truncated at 4 KiB. */
  headers: string;
  /** The first 4 KiB of the body. */
  body: string;
  /** Why the response is incomplete. */
  error: string | undefined;
  /** The endpoint has not seen the request: no connection was made, or the idle connection was closed. */
  unsent: "unreached" | "stale" | undefined;
};

/** The connection is closed when a response body exceeds this. */
const maxBodyBytes = 64 * 1024;
const maxKeptBytes = 4096;
const maxIdlePerEndpoint = 4;
const maxIdle = 256;
/** An idle connection keeps its IP address, so a short limit makes a change of DNS take effect soon. */
const idleMs = 5_000;

export function exchangeHttp(options: ExchangeOptions): Promise<HttpResult> {
  const { target, ending } = options;
  const request = (target.protocol === "https:" ? https : http).request({
    method: "POST",
    host: options.address,
    port: target.port,
    // The certificate is checked against the host in the URL. An IP address must not be sent as the server name (RFC 6066 §3).
    servername: isIP(target.host) === 0 ? target.host : "",
    path: options.path,
    headers: options.headers,
    agent: options.agent,
    rejectUnauthorized: true,
  });

  return new Promise((resolve) => {
    let response: IncomingMessage | undefined;
    let connected = false;
    let isComplete = false;
    let bodyBytes = 0;
    const kept: Buffer[] = [];

    const finish = (failure?: string, unsent?: HttpResult["unsent"]) => {
      const error = isComplete ? undefined : failure;
      clearTimeout(timer);
      ending.unlisten();
      request.off("error", onError);
      request.on("error", () => {});
      if (error !== undefined || bodyBytes > maxBodyBytes) request.destroy();
      resolve({
        status: response?.statusCode,
        location: response?.headers.location,
        headers: response ? keptText(headersOf(response)) : "",
        body: keptText(Buffer.concat(kept)),
        error,
        unsent,
      });
    };
    const onEnding = () => finish(ending.reason()!.message, connected ? undefined : "unreached");
    const onError = (error: NodeJS.ErrnoException) => {
      const stale =
        request.reusedSocket && response === undefined && (error.code === "ECONNRESET" || error.code === "EPIPE");
      finish(explain(error, target), stale ? "stale" : connected ? undefined : "unreached");
    };
    const giveUp = () => {
      if (!connected) finish(`${target.host} did not accept the connection in time`, "unreached");
    };
    const timer = options.connectMs === undefined ? undefined : setTimeout(giveUp, options.connectMs);

    request.on("error", onError);
    request.on("close", () => isComplete && finish());
    request.on("socket", (socket) => {
      const ready = () => (connected = true);
      if (!socket.connecting) ready();
      else socket.once(target.protocol === "https:" ? "secureConnect" : "connect", ready);
    });
    // We did not ask for an upgrade. Without a listener Node would close the connection without an error.
    request.on("upgrade", (_message, socket) => {
      socket.destroy();
      finish("the endpoint answered 101, which is not a valid response");
    });
    request.on("response", (message) => {
      response = message;
      message.on("data", (chunk: Buffer) => {
        if (bodyBytes <= maxKeptBytes) kept.push(chunk.subarray(0, maxKeptBytes + 1 - bodyBytes));
        bodyBytes += chunk.length;
        if (bodyBytes > maxBodyBytes) finish();
      });
      message.on("end", () => {
        isComplete = true;
        // Otherwise the agent gets the connection back first, so that the next request can use it.
        if (!request.writableFinished) finish();
      });
      message.on("error", () => finish("the connection was closed before the response was complete"));
    });
    ending.listen(onEnding);
    if (ending.reason()) onEnding();
    // As a text, so that Node writes headers and body at once.
    else request.end(options.body);
  });
}

function headersOf(response: IncomingMessage): Buffer {
  const lines = [`HTTP/${response.httpVersion} ${response.statusCode} ${response.statusMessage ?? ""}`.trimEnd()];
  for (let i = 0; i < response.rawHeaders.length; i += 2)
    lines.push(`${response.rawHeaders[i]}: ${response.rawHeaders[i + 1]}`);
  // Node reads each byte of a header as one character.
  return Buffer.from(lines.join("\n"), "latin1");
}

/** As text that PostgreSQL can store, truncated at 4 KiB. A byte that is not UTF-8 becomes three bytes, hence the second cut. */
export function keptText(bytes: Buffer): string {
  if (bytes.length * 3 <= maxKeptBytes) return bytes.toString("utf8").replaceAll("\0", "\ufffd").trimEnd();
  const text = truncated(bytes).replaceAll("\0", "\ufffd");
  return truncated(Buffer.from(text)).trimEnd();
}

function truncated(bytes: Buffer): string {
  const text = bytes.subarray(0, maxKeptBytes).toString("utf8");
  // The cut may have split a character.
  return bytes.length > maxKeptBytes ? text.replace(/\ufffd$/, "") : text;
}

function explain(error: NodeJS.ErrnoException, target: WebhookTarget): string {
  const { code = "", message } = error;
  if (code === "ECONNREFUSED") return `the connection to ${target.host} was refused`;
  if (code === "ECONNRESET" || code === "EPIPE") return "the connection was closed before the endpoint answered";
  if (code === "EHOSTUNREACH" || code === "ENETUNREACH") return `there is no route to ${target.host}`;
  if (code.startsWith("HPE_")) return `the response is not valid HTTP: ${message}`;
  if (/CERT|SELF_SIGNED|UNABLE_TO|ALTNAME/.test(code))
    return `the certificate of ${target.host} is not accepted: ${message}`;
  if (code.startsWith("ERR_SSL") || code === "EPROTO")
    return `TLS with ${target.host} failed: ${message.split("\n")[0]}`;
  // The message of a system error contains the address that the host resolves to, and ours.
  if (error.syscall !== undefined) return `the connection to ${target.host} failed (${code})`;
  return message;
}

export type Agents = { http: http.Agent; https: https.Agent; destroy(): void };

/** HTTP agents that keep idle connections for the next request, limited per endpoint and in total. */
export function createAgents(): Agents {
  const options = { keepAlive: true, maxFreeSockets: maxIdlePerEndpoint, timeout: idleMs };
  const agents = { http: new http.Agent(options), https: new https.Agent({ ...options, rejectUnauthorized: true }) };
  const idle = () => countFree(agents.http) + countFree(agents.https);
  for (const agent of [agents.http, agents.https]) {
    const keep = agent.keepSocketAlive.bind(agent) as unknown as (socket: Duplex) => boolean;
    // Node's own limits are per endpoint, or count idle connections together with those in use, so that one endpoint could block another.
    agent.keepSocketAlive = (socket) => idle() < maxIdle && keep(socket);
  }
  return {
    ...agents,
    destroy() {
      agents.http.destroy();
      agents.https.destroy();
    },
  };
}

function countFree(agent: http.Agent): number {
  return Object.values(agent.freeSockets).reduce((sum, sockets) => sum + (sockets?.length ?? 0), 0);
}
