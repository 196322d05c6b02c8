/** The header fields of every response: the request id, and the fields that restrict what a browser does with it. */

/** Alternating names and values, as writeHead accepts them. */
export function safeHeaders(requestId: string): string[] {
  return ["x-request-id", requestId, ...constant];
}

const constant = [
  ...["x-content-type-options", "nosniff"],
  ...["x-frame-options", "DENY"],
  ...["referrer-policy", "no-referrer"],
  ...["cross-origin-resource-policy", "same-origin"],
  ...["cache-control", "no-store"],
];
