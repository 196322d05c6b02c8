/** Builds the payloads of events about inbound mail, replies and complaints. Used for real mail and for simulated recipients. */

export type VerdictWord = "pass" | "fail" | "softfail" | "neutral" | "none" | "temperror" | "permerror";

export type Verdicts = {
  spf: VerdictWord;
  spfDomain: string;
  dkim: VerdictWord;
  dkimDomain: string;
  dmarc: VerdictWord;
  /** The domain in From that DMARC was checked for. Not shown. Empty: From has no domain, or several. */
  fromDomain?: string;
  arc: VerdictWord;
  arcDomain: string;
};

export type InboundAttachmentLabel = {
  id: string;
  filename: string;
  contentType: string;
  sizeBytes: number;
  contentId: string;
};

export type ReceivedReply = {
  from: string;
  to: readonly string[];
  subject: string;
  body: string;
  newText: string;
  html?: string;
  messageId: string;
  inReplyTo: string;
  /** Wire id of the email that the message replies to. */
  parentEmailId: string;
  /** Wire id of the stored message. */
  inboundId?: string;
  verdicts?: Verdicts;
  attachments?: readonly InboundAttachmentLabel[];
};

/** Texts of a message up to this many characters in all are stored next to it, so that reading the message needs no parsing. */
export const maxStoredText = 1024 * 1024;

/** Longer texts are truncated in events, which are sent to every stream and webhook; InboundService returns the whole text. */
export const maxEventText = 256 * 1024;

export function repliedPayload(reply: ReceivedReply): Record<string, unknown> {
  const { body, newText, html, verdicts, ...rest } = reply;
  return {
    ...rest,
    body: truncate(body),
    newText: truncate(newText),
    ...(html && { html: truncate(html) }),
    ...(verdicts && { verdicts: verdictsOnWire(verdicts) }),
  };
}

export type Received = Omit<ReceivedReply, "newText" | "parentEmailId" | "inboundId"> & {
  inboundId: string;
  autoSubmitted: boolean;
  /** Wire id of the email that an automatic answer refers to. */
  parentEmailId?: string;
};

export function receivedPayload(received: Received): Record<string, unknown> {
  const { body, html, verdicts, ...rest } = received;
  return {
    ...rest,
    body: truncate(body),
    ...(html && { html: truncate(html) }),
    ...(verdicts && { verdicts: verdictsOnWire(verdicts) }),
  };
}

export type Complaint = {
  recipients: readonly string[];
  feedbackType: string;
  userAgent: string;
  arrivedAt?: string;
};

export function complainedPayload({ recipients, feedbackType, userAgent, arrivedAt }: Complaint) {
  return { recipients, feedbackType, userAgent, ...(arrivedAt && { arrivedAt }) };
}

export function verdictsOnWire(verdicts: Verdicts): Record<string, string> {
  const word = (verdict: VerdictWord) => `VERDICT_${verdict.toUpperCase()}`;
  return {
    spf: word(verdicts.spf),
    spfDomain: verdicts.spfDomain,
    dkim: word(verdicts.dkim),
    dkimDomain: verdicts.dkimDomain,
    dmarc: word(verdicts.dmarc),
    arc: word(verdicts.arc),
    arcDomain: verdicts.arcDomain,
  };
}

/** `toWellFormed` replaces a surrogate pair that the cut has split. */
function truncate(text: string): string {
  return text.length <= maxEventText ? text : text.slice(0, maxEventText).toWellFormed();
}
