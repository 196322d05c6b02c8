/** An email as its sender asks for it, whatever door it came in by. Dates and strings only: nothing of the wire in it. */

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
  attachments: readonly { base64Content: string; filename: string; contentType: string; contentId: string }[];
  inReplyTo: string;
  references: readonly string[];
  headers: Readonly<Record<string, string>>;
  replyToEmailId: string;
  replyToAddresses: readonly string[];
  requireTls: boolean;
};

export type SendLimits = { recipients: number; messageBytes: number; attachments: number };
