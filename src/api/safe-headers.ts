/** The header fields of every answer: its request's id, and what keeps a browser from making more of an answer than it is. */

/** Name and value in turns, as writeHead takes them. */
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
