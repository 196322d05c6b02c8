/** Why the object store cannot serve: each kind with its state, the sentence for API callers and the fix for the operator. s3.ts throws
 * StoreError; content-store.ts turns one into a Problem for callers. A message never contains a credential or a host name. */
import { Problem } from "../ops/problem.ts";

type Kind = {
  /** The `reason` of the error detail, stable for programs. */
  reason: string;
  /** The state in /readyz and the label in the metrics. */
  state: string;
  /** A main clause for callers, without a final period. */
  problem: string;
  /** What the operator does. */
  fix: string;
};

export const storeOutages = {
  unreachable: {
    reason: "CONTENT_STORE_UNREACHABLE",
    state: "unreachable",
    problem: "The object storage for large content cannot be reached",
    fix: "Check the endpoint in POSTHORN_CONTENT_URL, and that this machine can connect to it.",
  },
  timeout: {
    reason: "CONTENT_STORE_TIMEOUT",
    state: "time-out",
    problem: "The object storage for large content took too long",
    fix: "Check the load of the object storage and the network to the endpoint in POSTHORN_CONTENT_URL.",
  },
  busy: {
    reason: "CONTENT_STORE_BUSY",
    state: "failing",
    problem: "The object storage for large content reports an error of its own",
    fix: "Check the object storage of POSTHORN_CONTENT_URL: it answers with 429 or 5xx.",
  },
  denied: {
    reason: "CONTENT_STORE_DENIED",
    state: "access denied",
    problem: "The object storage for large content denies access",
    fix: "Check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, the region in POSTHORN_CONTENT_URL, the policy of the bucket and the clock of this machine.",
  },
  noBucket: {
    reason: "CONTENT_STORE_NO_BUCKET",
    state: "no bucket",
    problem: "The object storage for large content has no such bucket",
    fix: "Create the bucket of POSTHORN_CONTENT_URL, or correct its name.",
  },
  full: {
    reason: "CONTENT_STORE_FULL",
    state: "full",
    problem: "The object storage for large content is full",
    fix: "Enlarge the object storage of POSTHORN_CONTENT_URL or its quota.",
  },
  wrongMark: {
    reason: "CONTENT_STORE_WRONG_MARK",
    state: "wrong mark",
    problem: "The object storage for large content does not hold this service's mark",
    fix: "Check that POSTHORN_CONTENT_URL names the bucket and the prefix of this instance; `posthorn content status` shows the mark.",
  },
  rejected: {
    reason: "CONTENT_STORE_REJECTED",
    state: "request rejected",
    problem: "The object storage for large content rejects a request of this service",
    fix: "See the log for its answer, and check that the storage of POSTHORN_CONTENT_URL is compatible with Amazon S3.",
  },
  notConfigured: {
    reason: "CONTENT_STORE_NOT_CONFIGURED",
    state: "not configured",
    problem: "This content is in object storage, which is not configured",
    fix: "Set POSTHORN_CONTENT_URL to where the content is.",
  },
} as const satisfies Record<string, Kind>;

export type StoreOutageKind = keyof typeof storeOutages;

/** The store cannot serve now. */
export class StoreError extends Error {
  override readonly name = "StoreError";
  readonly kind: StoreOutageKind;
  constructor(kind: StoreOutageKind, message: string, cause?: unknown) {
    super(message, { cause });
    this.kind = kind;
  }
}

/** Whether the failure of a deletion may concern only this object, which may be locked. */
export function isOfOneObject(error: unknown): error is StoreError {
  return error instanceof StoreError && (error.kind === "denied" || error.kind === "rejected");
}

/** The store serves, but it does not have the object, or has another one under its name. */
export class ObjectLost extends Error {
  override readonly name = "ObjectLost";
}

const retryAfterMs = 5000;

/** `write`: whether the call wanted to store content. */
export function storeUnavailable(error: StoreError, { write }: { write: boolean }): Problem {
  const { problem, reason } = storeOutages[error.kind];
  const effect = write
    ? "an email with large content cannot be stored, and nothing was"
    : "this content cannot be read";
  const advice = "The operator of this service must look at POSTHORN_CONTENT_URL if this lasts. Try again later.";
  const message = `${problem}, so ${effect}${write ? " stored. Small emails are not affected" : " now"}. ${advice}`;
  return new Problem("unavailable", message, { retryAfterMs, reason, cause: error });
}

/** The kind of a failed answer, by its status and the code in its body. */
export function kindOfAnswer(status: number, code: string): StoreOutageKind {
  if (/^NoSuchBucket$/.test(code)) return "noBucket";
  // S3-compatible stores have several names for a full disk or a used-up quota.
  if (status === 507 || /Quota|StorageFull|EntityTooLarge|InsufficientStorage/i.test(code)) return "full";
  if (status === 429 || status >= 500 || code === "SlowDown" || code === "RequestTimeout") return "busy";
  if (status === 401 || status === 403) return "denied";
  return "rejected";
}
