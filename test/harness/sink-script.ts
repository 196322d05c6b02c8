/** Scripts of the sink: the steps of a connection, the actions of a script, and scripts for common receivers. */

/** A step at which the script may act. `dot` comes after the complete message, `bytes` with each chunk of it. */
export interface Step {
  verb: string;
  /** The command line as received. */
  line: string;
  /** Numbered from 1 in the order of connection. */
  connection: number;
  /** Transactions started on this connection, including this one. */
  transaction: number;
  secure: boolean;
  from: string;
  /** The address of this RCPT, or of the first accepted recipient. */
  recipient: string;
  recipients: readonly string[];
  /** How often this verb came for this recipient (or at all, if there is none), including this time. */
  seen: number;
  /** At `bytes` and `dot`: the number of bytes received of the message. */
  received: number;
}

/** What to do instead of the usual reply. A string is a reply, with line breaks if it has several lines. */
export type Action =
  | string
  | "close"
  | "reset"
  | "silence"
  | {
      reply?: string;
      /** Bytes that are sent unchanged before the reply. */
      raw?: string | Buffer;
      /** Send the reply one byte at a time with this delay. Without `reply`, this is the usual reply. */
      dripMs?: number;
      /** `rubbish` answers the next bytes, for example a TLS handshake, with plain text. */
      after?: "close" | "reset" | "pause" | "upgrade" | "rubbish" | "go on";
    };

export type Script = (step: Step) => Action | undefined;

export interface SinkOptions {
  script?: Script;
  /** EHLO keywords; STARTTLS and AUTH are added by the options below. */
  extensions?: readonly string[];
  tls?: { key: string; cert: string };
  /** TLS from the first byte. */
  implicitTls?: boolean;
  auth?: { user: string; password: string; mechanisms?: string };
  /** False for benches: count deliveries, but store no bytes, replies or commands. */
  record?: boolean;
  host?: string;
  port?: number;
  /** Records deliveries in this list, which may be that of another sink. */
  deliveries?: Delivery[];
}

/** One DATA command and its message, complete or not. */
export interface Delivery {
  connection: number;
  transaction: number;
  secure: boolean;
  helo: string;
  user: string;
  from: string;
  /** MAIL FROM's parameters, such as SIZE=1234. */
  parameters: readonly string[];
  /** The accepted recipients. */
  recipients: readonly string[];
  /** The bytes between 354 and the final dot, as sent. */
  raw: Buffer;
  /** The same without dot-stuffing. */
  data: Buffer;
  /** Whether the final dot arrived. */
  complete: boolean;
  /** The reply to the final dot; empty if there was none. */
  reply: string;
}

export const usualExtensions = ["PIPELINING", "SIZE 52428800", "8BITMIME", "SMTPUTF8", "ENHANCEDSTATUSCODES"];

/** Combines scripts: the first one that returns an action decides. */
export function scripts(...list: readonly Script[]): Script {
  return (step) => {
    for (const script of list) {
      const action = script(step);
      if (action !== undefined) return action;
    }
    return undefined;
  };
}

/** Acts at one verb only. A function gets the step. */
export function on(verb: string, action: Action | ((step: Step) => Action | undefined)): Script {
  return (step) => (step.verb !== verb ? undefined : typeof action === "function" ? action(step) : action);
}

/** Chooses the reply to RCPT by address or by local part. */
export function byRecipient(answers: Readonly<Record<string, Action>>): Script {
  return on("rcpt", ({ recipient }) => answers[recipient] ?? answers[recipient.slice(0, recipient.lastIndexOf("@"))]);
}

/** Defers each recipient a number of times before accepting it. */
export function greylist(times = 1, reply = "451 4.7.1 Greylisted, please try again later"): Script {
  return on("rcpt", ({ seen }) => (seen <= times ? reply : undefined));
}
