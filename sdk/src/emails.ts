/** posthorn.emails: send emails, read their state and content, reschedule and cancel them. */
import { contentOf } from "./base64.ts";
import type { Call } from "./call.ts";
import { checkArray, checkObject, checkSignal } from "./check.ts";
import type { Deadline } from "./deadline.ts";
import { type SendEmail, toSendRequest } from "./email-request.ts";
import { badArgument } from "./error.ts";
import type {
  CancelEmailResponse,
  CountEmailsResponse,
  Email,
  ListEmailsRequest,
  ListEmailsResponse,
  SendEmailBatchResponse,
  SendEmailResponse,
  UpdateEmailResponse,
} from "./gen/email.ts";
import { type List, listByToken } from "./list.ts";
import type { AbortSignal } from "./platform.ts";
import { withReading } from "./reading.ts";
import type { CallOptions, Settings } from "./settings.ts";
import type { OpenStream } from "./stream.ts";

export interface SendOptions extends CallOptions {
  /** Makes it safe to repeat this call yourself within 24 hours. Default: a new key for each call, the same for all its retries. */
  idempotencyKey?: string;
}

export interface EmailContent {
  /** The complete message in RFC 5322 format. */
  raw: Uint8Array;
  body: string;
  html: string;
}

const exportFormats = { csv: "EXPORT_FORMAT_CSV", jsonLines: "EXPORT_FORMAT_JSON_LINES" } as const;

/** The server sends a chunk after each query of its database, also if the query found nothing. */
const idleTimeoutMs = 45_000;

export class Emails {
  readonly #call: Call;
  readonly #open: OpenStream;
  readonly #maxBytes: number;

  constructor(call: Call, open: OpenStream, settings: Pick<Settings, "maxAttachmentBytes">) {
    this.#call = call;
    this.#open = open;
    this.#maxBytes = settings.maxAttachmentBytes;
  }

  /** Sends an email. When the promise resolves, the email is stored on disk; `status` is its state so far. */
  async send(email: SendEmail & { idempotencyKey?: string }, options: SendOptions = {}): Promise<SendEmailResponse> {
    checkObject(options, "options");
    checkEmail(email, "email");
    const { idempotencyKey = options.idempotencyKey ?? newIdempotencyKey(), ...rest } = email;
    const prepare = (deadline: Deadline) =>
      withReading({ deadline, maxBytes: this.#maxBytes }, (reading) => toSendRequest(rest, reading));
    return await this.#call("EmailService/SendEmail", prepare, { ...options, idempotencyKey });
  }

  /** Sends up to 500 emails in the background. Each has its own result: check `error` of every entry. */
  async sendBatch(emails: readonly SendEmail[], options: SendOptions = {}): Promise<SendEmailBatchResponse> {
    checkObject(options, "options");
    checkArray(emails, "emails", "must be an array of emails");
    emails.forEach((email, i) => {
      checkEmail(email, `emails[${i}]`);
    });
    const prepare = (deadline: Deadline) =>
      withReading({ deadline, maxBytes: this.#maxBytes }, async (reading) => ({
        emails: await Promise.all(emails.map((email, i) => toSendRequest(email, reading, `emails[${i}].`))),
      }));
    const idempotencyKey = options.idempotencyKey ?? newIdempotencyKey();
    return await this.#call("EmailService/SendEmailBatch", prepare, { ...options, idempotencyKey });
  }

  /** Returns one email with the state of each recipient. */
  async get(id: string, options?: CallOptions): Promise<Email> {
    return (await this.#call("EmailService/GetEmail", { id }, options)).email;
  }

  /** Lists emails, newest first. All filters that are set must match. */
  list(filter: ListEmailsRequest = {}, options?: CallOptions): List<Email, ListEmailsResponse> {
    return listByToken(filter, (page) => this.#call("EmailService/ListEmails", page, options));
  }

  /**
   * Yields all emails that match the filters as parts of one file, newest first: CSV with a header line, or one JSON object per line.
   * The file is complete when the loop ends without an error.
   */
  async *export(
    filter: Omit<ListEmailsRequest, "pageSize" | "pageToken"> = {},
    options: { format?: "csv" | "jsonLines"; signal?: AbortSignal } = {},
  ): AsyncGenerator<string, void, undefined> {
    checkObject(filter, "filter");
    checkObject(options, "options");
    checkSignal(options.signal);
    const { format = "csv", signal } = options;
    if (!(format in exportFormats)) throw badArgument("format", 'must be "csv" or "jsonLines"');
    const request = { filter, format: exportFormats[format] };
    // Each chunk has whole lines, so none ends within a character.
    for await (const { chunk } of this.#open("EmailService/ExportEmails", request, { signal, idleTimeoutMs }))
      if (chunk !== "") yield new TextDecoder().decode(contentOf(chunk));
  }

  /** Counts the emails that match the filters, by outcome. */
  async count(
    filter: Omit<ListEmailsRequest, "pageSize" | "pageToken"> = {},
    options?: CallOptions,
  ): Promise<CountEmailsResponse> {
    return await this.#call("EmailService/CountEmails", { filter }, options);
  }

  /** Cancels an email for every recipient that is still waiting. */
  async cancel(id: string, options?: CallOptions): Promise<CancelEmailResponse> {
    return await this.#call("EmailService/CancelEmail", { id }, options);
  }

  /** Changes the time of a scheduled email, before its first attempt. A time up to 5 minutes in the past means now. */
  async update(
    id: string,
    change: { scheduledAt: Date | string },
    options?: CallOptions,
  ): Promise<UpdateEmailResponse> {
    checkObject(change, "change", "must be an object, such as { scheduledAt: new Date() }");
    return await this.#call("EmailService/UpdateEmail", { id, scheduledAt: change.scheduledAt }, options);
  }

  /** Returns the text and HTML of an email, and the complete message as it is sent. */
  async content(id: string, options?: CallOptions): Promise<EmailContent> {
    const { raw, body, html } = await this.#call("EmailService/GetEmailContent", { id }, options);
    return { raw: contentOf(raw), body, html };
  }
}

function checkEmail(email: unknown, field: string): void {
  checkObject(email, field, "must be an object, such as { from, to, subject, html }");
}

/** 128 random bits. `crypto.randomUUID` would be shorter, but browsers have it only on https pages. */
function newIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `sdk-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
