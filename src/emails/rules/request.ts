/**
 * The input of accept.ts: a requested email, its submitter and the limits. It does not use the contract's messages, so
 * that other protocols than HTTP can submit emails.
 */

export type RecipientKind = "to" | "cc" | "bcc";

export type SendRequest = {
  from: string;
  to: readonly string[];
  cc: readonly string[];
  bcc: readonly string[];
  subject: string | undefined;
  body: string;
  html: string;
  metadata: Readonly<Record<string, string>>;
  scheduledAt: Date | undefined;
  expiresAt: Date | undefined;
  /** `file`: the decoded content of a large attachment, instead of `base64Content`. */
  attachments: readonly {
    base64Content: string;
    file?: Buffer;
    filename: string;
    contentType: string;
    contentId: string;
  }[];
  inReplyTo: string;
  references: readonly string[];
  headers: Readonly<Record<string, string>>;
  replyToEmailId: string;
  replyToAddresses: readonly string[];
  requireTls: boolean;
  /** The topic that the recipient can unsubscribe from. */
  unsubscribe: { topic: string } | undefined;
};

/** A request in which no field is set. */
export const emptyRequest: SendRequest = {
  from: "",
  to: [],
  cc: [],
  bcc: [],
  subject: undefined,
  body: "",
  html: "",
  metadata: {},
  scheduledAt: undefined,
  expiresAt: undefined,
  attachments: [],
  inReplyTo: "",
  references: [],
  headers: {},
  replyToEmailId: "",
  replyToAddresses: [],
  requireTls: false,
  unsubscribe: undefined,
};

export type SendLimits = { recipients: number; messageBytes: number; attachments: number };

export type Submitter = {
  workspaceId: string;
  /** The workspace with the sender's domain, if it is another one: only for system mail. */
  domainWorkspaceId?: string;
  keyId: string;
  test: boolean;
  /** The domains and recipients that the key is limited to; undefined: any. */
  domains?: readonly string[];
  recipients?: readonly string[];
};

export type AcceptOptions = {
  idempotencyKey: string | undefined;
  /** Called right before the first write. It throws if the caller's deadline has passed, so that nothing is stored. */
  beginWrite(): void;
  /** Field names in the request, or in the i-th email of a batch, that are not in the contract. */
  unknownFields?(i: number): readonly string[];
};
