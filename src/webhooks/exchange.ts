/** One HTTP request to one address and what came back, within bounds. Called by post, which decides on addresses and time. */
import http, { type IncomingMessage } from "node:http";
import https from "node:https";
import { isIP } from "node:net";
import type { WebhookTarget } from "../rules/webhook-url.ts";

export type Exchange = {
  target: WebhookTarget;
  /** The address to connect to: no name is looked up any more. */
  address: string;
  headers: Record<string, string>;
  body: Buffer;
  agent: http.Agent | false;
  /** Aborting ends it as a failure in the words of the signal's reason. */
  signal: AbortSignal;
  /** An address that does not take the connection within this time is given up; undefined where there is no other to turn to. */
  connectMs: number | undefined;
};

export type Exchanged = {
  /** Undefined when no head of an answer came. */
  status: number | undefined;
  location: string | undefined;
  /** The beginning of the answer, head and body. */
  head: string;
  /** What kept the answer from being whole. */
  error: string | undefined;
  /** Nobody can have seen the request: there was no connection, or a kept one that had ended. */
  unsent: "unreached" | "stale" | undefined;
};

/** As much of an answer as is read; the rest changes nothing. */
const maxBodyBytes = 64 * 1024;
const maxHeadBytes = 4096;

export function exchange(options: Exchange): Promise<Exchanged> {
  const { target, signal } = options;
  const url = new URL(target.url);
  const request = (target.protocol === "https:" ? https : http).request({
    method: "POST",
    host: options.address,
    port: target.port,
    // Certificates are checked against the name in the URL; an address is no server name (RFC 6066 §3) and checked as itself.
    servername: isIP(target.host) === 0 ? target.host : "",
    path: url.pathname + url.search,
    headers: { host: url.host, ...options.headers, "content-length": String(options.body.length) },
    agent: options.agent,
    rejectUnauthorized: true,
  });

  return new Promise((resolve) => {
    let answer: IncomingMessage | undefined;
    let connected = false;
    let bodyBytes = 0;
    const head: Buffer[] = [];

    const finish = (error?: string, unsent?: Exchanged["unsent"]) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      request.off("error", onError);
      request.on("error", () => {});
      if (error !== undefined || bodyBytes > maxBodyBytes) request.destroy();
      resolve({
        status: answer?.statusCode,
        location: answer?.headers.location,
        head: answer ? headText(answer, Buffer.concat(head)) : "",
        error,
        unsent,
      });
    };
    const onAbort = () => finish((signal.reason as Error).message);
    const onError = (error: NodeJS.ErrnoException) => {
      const stale =
        request.reusedSocket && answer === undefined && (error.code === "ECONNRESET" || error.code === "EPIPE");
      finish(explain(error, target), stale ? "stale" : connected ? undefined : "unreached");
    };
    const giveUp = () => {
      if (!connected) finish(`${options.address} did not take the connection in time`, "unreached");
    };
    const timer = options.connectMs === undefined ? undefined : setTimeout(giveUp, options.connectMs);

    request.on("error", onError);
    request.on("socket", (socket) => {
      const ready = () => (connected = true);
      if (!socket.connecting) ready();
      else socket.once(target.protocol === "https:" ? "secureConnect" : "connect", ready);
    });
    // An upgrade that nobody asked for: Node would end the connection and say nothing.
    request.on("upgrade", (_response, socket) => {
      socket.destroy();
      finish("the endpoint answered 101, which is no answer");
    });
    request.on("response", (response) => {
      answer = response;
      response.on("data", (chunk: Buffer) => {
        if (bodyBytes < maxHeadBytes) head.push(chunk.subarray(0, maxHeadBytes - bodyBytes));
        bodyBytes += chunk.length;
        if (bodyBytes > maxBodyBytes) finish();
      });
      response.on("end", () => finish());
      response.on("error", () => finish("the connection ended before the answer was whole"));
    });
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    else request.end(options.body);
  });
}

/** Status line, headers and body as text that any store and page can hold, cut at 4 KiB. */
function headText(answer: IncomingMessage, body: Buffer): string {
  const lines = [`HTTP/${answer.httpVersion} ${answer.statusCode} ${answer.statusMessage ?? ""}`.trimEnd()];
  for (let i = 0; i < answer.rawHeaders.length; i += 2)
    lines.push(`${answer.rawHeaders[i]}: ${answer.rawHeaders[i + 1]}`);
  const bytes = Buffer.concat([Buffer.from(`${lines.join("\n")}\n\n`), body]);
  const text = bytes.subarray(0, maxHeadBytes).toString("utf8").replaceAll("\0", "\ufffd").trimEnd();
  // The cut may have gone through a character.
  return bytes.length > maxHeadBytes ? text.replace(/\ufffd$/, "") : text;
}

function explain(error: NodeJS.ErrnoException, target: WebhookTarget): string {
  const { code = "", message } = error;
  if (code === "ECONNREFUSED") return `the connection to ${target.host} was refused`;
  if (code === "ECONNRESET" || code === "EPIPE") return "the connection ended before there was an answer";
  if (code === "EHOSTUNREACH" || code === "ENETUNREACH") return `no network leads to ${target.host}`;
  if (code.startsWith("HPE_")) return `the answer is no valid HTTP: ${message}`;
  if (/CERT|SELF_SIGNED|UNABLE_TO|ALTNAME/.test(code))
    return `the certificate of ${target.host} is not accepted: ${message}`;
  if (code.startsWith("ERR_SSL") || code === "EPROTO")
    return `TLS with ${target.host} failed: ${message.split("\n")[0]}`;
  return message;
}
