/** posthorn.emails: send emails, read their state and content, reschedule and cancel them. */
import { fromBase64 } from "./base64.ts";
import type { Call } from "./call.ts";
import { type SendEmail, toSendRequest } from "./email-request.ts";
import type {
  CancelEmailResponse,
  Email,
  ListEmailsRequest,
  ListEmailsResponse,
  SendEmailBatchResponse,
  SendEmailResponse,
  UpdateEmailResponse,
} from "./gen/email.ts";
import { type List, listByToken } from "./list.ts";
import type { CallOptions } from "./settings.ts";

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

export class Emails {
  readonly #call: Call;

  constructor(call: Call) {
    this.#call = call;
  }

  /** Sends an email. When the promise resolves, the email is stored on disk; `status` is its state so far. */
  async send(email: SendEmail & { idempotencyKey?: string }, options: SendOptions = {}): Promise<SendEmailResponse> {
    const { idempotencyKey = options.idempotencyKey ?? newIdempotencyKey(), ...rest } = email;
    return await this.#call("EmailService/SendEmail", await toSendRequest(rest), { ...options, idempotencyKey });
  }

  /** Sends up to 500 emails in the background. Each has its own result: check `error` of every entry. */
  async sendBatch(emails: readonly SendEmail[], options: SendOptions = {}): Promise<SendEmailBatchResponse> {
    const request = { emails: await Promise.all(emails.map(toSendRequest)) };
    const idempotencyKey = options.idempotencyKey ?? newIdempotencyKey();
    return await this.#call("EmailService/SendEmailBatch", request, { ...options, idempotencyKey });
  }

  /** Returns one email with the state of each recipient. */
  async get(id: string, options?: CallOptions): Promise<Email> {
    return (await this.#call("EmailService/GetEmail", { id }, options)).email;
  }

  /** Lists emails, newest first. All filters that are set must match. */
  list(filter: ListEmailsRequest = {}, options?: CallOptions): List<Email, ListEmailsResponse> {
    return listByToken((pageToken = filter.pageToken) =>
      this.#call("EmailService/ListEmails", { ...filter, pageToken }, options),
    );
  }

  /** Cancels an email for every recipient that is still waiting. */
  async cancel(id: string, options?: CallOptions): Promise<CancelEmailResponse> {
    return await this.#call("EmailService/CancelEmail", { id }, options);
  }

  /** Changes the time of a scheduled email, before its first attempt. A time up to 5 minutes in the past means now. */
  async update(
    id: string,
    { scheduledAt }: { scheduledAt: Date | string },
    options?: CallOptions,
  ): Promise<UpdateEmailResponse> {
    return await this.#call("EmailService/UpdateEmail", { id, scheduledAt }, options);
  }

  /** Returns the text and HTML of an email, and the complete message as it is sent. */
  async content(id: string, options?: CallOptions): Promise<EmailContent> {
    const { raw, body, html } = await this.#call("EmailService/GetEmailContent", { id }, options);
    return { raw: fromBase64(raw), body, html };
  }
}

/** 128 random bits. `crypto.randomUUID` would be shorter, but browsers have it only on https pages. */
function newIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `sdk-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
