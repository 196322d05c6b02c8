/** The header fields of every response: the request id, and the fields that restrict what a browser does with it. */
import type { ProxyTrust } from "./forwarded.ts";
import type { Request } from "./server.ts";

/** Alternating names and values, as writeHead accepts them. */
export type SafeHeaders = (request: Pick<Request, "headers" | "socket">, requestId: string) => string[];

export type SafeHeadersOptions = {
  /** The address of the service for people and programs. */
  publicUrl?: string;
  /** Proxies that report with X-Forwarded-Proto whether the client came over TLS. */
  proxies?: ProxyTrust;
};

export function createSafeHeaders({ publicUrl, proxies }: SafeHeadersOptions = {}): SafeHeaders {
  const isHttps = publicUrl?.startsWith("https:") === true;
  return (request, requestId) => {
    const fields = ["x-request-id", requestId, ...constant];
    if (isHttps || (proxies && cameOverTls(request, proxies))) fields.push(...strictTransport);
    return fields;
  };
}

const constant = [
  ...["x-content-type-options", "nosniff"],
  ...["x-frame-options", "DENY"],
  ...["referrer-policy", "no-referrer"],
  ...["cross-origin-resource-policy", "same-origin"],
  ...["cross-origin-opener-policy", "same-origin"],
  ...["cache-control", "no-store"],
];

// RFC 6797 §6.1. One year. Without includeSubDomains: the operator's other hosts may have no TLS.
const strictTransport = ["strict-transport-security", "max-age=31536000"];

function cameOverTls({ headers, socket }: Pick<Request, "headers" | "socket">, proxies: ProxyTrust): boolean {
  // A chain of proxies appends its own; the first entry is about the client.
  const [client] = String(headers["x-forwarded-proto"] ?? "").split(",", 1);
  return client!.trim().toLowerCase() === "https" && proxies.isTrusted(socket?.remoteAddress ?? "");
}
