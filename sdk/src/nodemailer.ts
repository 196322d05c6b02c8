/** A nodemailer transport that sends over Posthorn's API. Imported as "posthorn/nodemailer". */
import { type Call, createCall } from "./call.ts";
import { Posthorn } from "./client.ts";
import type { Emails } from "./emails.ts";
import { asPosthornError, PosthornError } from "./error.ts";
import type { Email, SendEmailResponse } from "./gen/email.ts";
import { type ConvertedMessage, convertMessage, type MailMessage } from "./nodemailer-message.ts";
import { type PosthornOptions, readSettings } from "./settings.ts";
import { version } from "./version.ts";

export type { MailMessage } from "./nodemailer-message.ts";

export interface PosthornTransportOptions extends PosthornOptions {
  /**
   * False: wait up to 10 seconds for the first delivery attempt, and report recipients that were rejected. Default true: as with SMTP,
   * `sendMail` resolves when Posthorn has stored the email. Events report what becomes of it.
   */
  async?: boolean;
  /** True: deliver only over TLS with a verified certificate. */
  requireTls?: boolean;
}

/** The result of `sendMail`. */
export interface SentMessageInfo {
  /** The Message-ID header of the email, with its angle brackets. */
  messageId: string;
  envelope: { from: string; to: string[] };
  /** Recipients for which Posthorn has accepted the email. */
  accepted: string[];
  /** Recipients that the first attempt did not reach. Always empty with `async`. */
  rejected: string[];
  /** Always empty: Posthorn retries by itself. */
  pending: string[];
  /** The email's id and status, as text. */
  response: string;
  /** Id of the email. Its events have it as `emailId`. */
  id: string;
  status: SendEmailResponse["status"];
}

/** What `sendMail` and `verify` reject with: a PosthornError with the properties of nodemailer's errors. */
export interface PosthornTransportError extends PosthornError {
  /** The method of the API. */
  command: string;
  /** The code and the message. */
  response: string;
  /** The SMTP reply that means the same: from 400 to 499 a later attempt may succeed, from 500 on the message must change. */
  responseCode: number;
  /** All recipients, if the first attempt reached none of them. */
  rejected?: string[];
}

type VerifyCallback = (error: Error | null, success: true) => void;

export interface PosthornTransport {
  name: string;
  version: string;
  send(mail: MailMessage, callback: (error: Error | null, info: SentMessageInfo) => void): void;
  /** Checks that the server can be reached and that the key may send. */
  verify(): Promise<true>;
  verify(callback: VerifyCallback): void;
  isIdle(): boolean;
  close(): void;
}

/** Creates a transport for nodemailer: `createTransport(posthornTransport({ apiKey, baseUrl }))`. */
export function posthornTransport(options: PosthornTransportOptions = {}): PosthornTransport {
  const { async: inBackground = true, requireTls, ...clientOptions } = options;
  const settings = readSettings(clientOptions);
  const call = createCall(settings);
  const { emails } = new Posthorn(clientOptions);

  async function send(mail: MailMessage): Promise<SentMessageInfo> {
    const message = await convertMessage(mail, settings.timeoutMs);
    const sent = await emails.send({ ...message.email, requireTls, async: inBackground });
    return await toInfo(emails, message, sent);
  }

  function verify(): Promise<true>;
  function verify(callback: VerifyCallback): void;
  function verify(callback?: VerifyCallback): Promise<true> | undefined {
    const verified = checkKey(call);
    if (!callback) return verified;
    settle(verified, callback);
  }

  return {
    name: "posthorn",
    version,
    send: (mail, callback) => settle(send(mail), callback),
    verify,
    isIdle: () => true,
    close: () => {},
  };
}

/** Calls back outside the promise, so that an exception of the callback does not become a second call. */
function settle<T>(promise: Promise<T>, callback: (error: Error | null, value: T) => void): void {
  promise.then(
    (value) => setTimeout(callback, 0, null, value),
    (error: unknown) => setTimeout(callback, 0, toTransportError(error, "SendEmail"), undefined),
  );
}

/** A request without fields is refused after the key was checked, and nothing is stored. */
async function checkKey(call: Call): Promise<true> {
  const error: unknown = await call("EmailService/SendEmail", {} as never).catch((error: unknown) => error);
  if (error instanceof PosthornError && error.code === "invalid_argument") return true;
  throw toTransportError(error, "SendEmail");
}

const refusedStatuses = new Set<string>(
  ["BOUNCED", "FAILED", "SUPPRESSED", "CANCELED"].map((s) => `RECIPIENT_STATUS_${s}`),
);

async function toInfo(emails: Emails, message: ConvertedMessage, sent: SendEmailResponse): Promise<SentMessageInfo> {
  const { envelope } = message;
  const { id, status, messageId, statusMessage } = sent;
  const response = [id, status, statusMessage].filter(Boolean).join(" ");
  if (status === "EMAIL_STATUS_FAILED") {
    const reason = `No recipient's server accepted the email ${id}: ${statusMessage}`;
    const error = new PosthornError("failed_precondition", reason, { metadata: { emailId: id } });
    throw Object.assign(toTransportError(error, "SendEmail"), { rejected: envelope.to });
  }
  const isSettled = status === "EMAIL_STATUS_SENT" || status === "EMAIL_STATUS_PROCESSING";
  // Posthorn has stored the email. If its state cannot be read, that is no reason to report a failure.
  const email: Email | undefined =
    isSettled && envelope.to.length > 1 ? await emails.get(id).catch(() => undefined) : undefined;
  const refused = new Set(
    email?.recipients.filter(({ status }) => refusedStatuses.has(status)).map(({ address }) => address.toLowerCase()),
  );
  return {
    messageId,
    envelope,
    accepted: envelope.to.filter((address) => !refused.has(address.toLowerCase())),
    rejected: envelope.to.filter((address) => refused.has(address.toLowerCase())),
    pending: [],
    response,
    id,
    status,
  };
}

function toTransportError(error: unknown, command: string): PosthornTransportError {
  const known = asPosthornError(error);
  return Object.assign(known, {
    command,
    response: `${known.code}: ${known.message}`,
    responseCode: responseCodeOf(known),
  });
}

/** The replies of Posthorn's own SMTP port (docs/smtp.md), so that programs that look at them work unchanged. */
function responseCodeOf({ code, retryAfterMs }: PosthornError): number {
  if (code === "unauthenticated") return 535;
  if (code === "permission_denied" || code === "failed_precondition") return 550;
  if (code === "resource_exhausted") return retryAfterMs === undefined ? 552 : 451;
  const permanent = ["invalid_argument", "not_found", "already_exists", "out_of_range", "unimplemented"];
  return permanent.includes(code) ? 554 : 451;
}
