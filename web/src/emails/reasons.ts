/** What the categories of bounces, delays and failures mean, and what to do about them. explain.ts builds its sentences from this table. */

export type Reason = {
  /** Completes "Bounced: …". */
  what: (address: string) => string;
  /** Completes "Delayed: …", where it differs. */
  whatNow?: (address: string) => string;
  /** What to do after a bounce. */
  fix: string;
  /** What to know while Posthorn retries. */
  wait?: string;
};

/** By the categories of events (src/delivery/rules/outcome-rules.ts), with underscores. */
export const reasons: Record<string, Reason> = {
  unknown_mailbox: {
    what: (address) => `the mailbox ${address} does not exist`,
    fix: "Check the spelling of the address, or ask the person for another one.",
  },
  mailbox_disabled: {
    what: (address) => `the mailbox ${address} is disabled`,
    fix: "The receiver has closed this mailbox. Ask the person for another address.",
  },
  invalid_address: {
    what: (address) => `${address} is not a valid address`,
    fix: "Correct the address and send the email again.",
  },
  mailbox_full: {
    what: (address) => `the mailbox ${address} is full`,
    fix: "Resend the email after the person has deleted mail.",
    wait: "The receiver accepts it as soon as the person deletes mail.",
  },
  policy: {
    what: () => "a policy of the receiver blocks it",
    fix: "The reply below often names the rule and a contact. Change the email, or ask the receiver to allow your domain, then resend it.",
    wait: "The reply below often names the rule and a contact.",
  },
  reputation: {
    what: () => "the receiver blocks mail from the sending IP address",
    fix: "Ask the receiver to unblock the IP address; the reply below often says how. Then resend the email.",
    wait: "Ask the receiver to unblock the IP address; the reply below often says how.",
  },
  spam_content: {
    what: () => "the receiver classified it as spam",
    fix: "Check that the person expects this email, change its text or links, then resend it.",
    wait: "If it stays delayed, change the text or the links and send it again.",
  },
  rate_limited: {
    what: () => "the receiver limits how much mail it accepts",
    fix: "Resend the email later, and send less at once to this receiver.",
    wait: "Posthorn slows down for this receiver by itself. There is nothing to do.",
  },
  greylisted: {
    what: () => "the receiver kept asking to try again later (greylisting)",
    whatNow: () => "the receiver asks to try again later (greylisting)",
    fix: "Resend the email: the receiver usually accepts a sender that it has seen before.",
    wait: "Receivers do this with senders that they do not know yet. There is nothing to do.",
  },
  auth_failure: {
    what: () => "SPF, DKIM or DMARC did not pass at the receiver",
    fix: "Check the DNS records of your domain, then resend the email.",
    wait: "Check the DNS records of your domain.",
  },
  sender_rejected: {
    what: () => "the receiver rejects the sender address",
    fix: "Check that the sender's domain exists and receives mail, then resend the email.",
    wait: "Check that the sender's domain exists and receives mail.",
  },
  too_large: {
    what: () => "it is too large for the receiver",
    fix: "Send a smaller email, for example with a link instead of an attachment.",
  },
  too_many_recipients: {
    what: () => "the receiver does not accept so many recipients at once",
    fix: "Resend the email to fewer recipients.",
    wait: "Posthorn sends it to the remaining recipients with the next attempt. There is nothing to do.",
  },
  relay_denied: {
    what: (address) => `the server that it was sent to does not accept mail for ${domainOf(address)}`,
    fix: "The MX records of the recipient's domain may name the wrong server. Tell the person, or ask for another address.",
  },
  relay_login: {
    what: () => "the relay rejected the login",
    fix: "The operator must correct the user name and password of the relay. Then resend the email.",
    wait: "The operator must correct the user name and password of the relay.",
  },
  smtputf8: {
    what: () => "the receiver does not support international addresses",
    fix: "Ask the person for an address without special characters.",
  },
  dns: {
    what: (address) => `the domain ${domainOf(address)} does not receive mail`,
    whatNow: (address) => `the DNS servers of ${domainOf(address)} do not answer`,
    fix: "The domain has no mail server in DNS. Check the spelling of the address, or ask the person for another one.",
    wait: "Usually this passes. Check the spelling of the domain if it does not.",
  },
  network: {
    what: () => "the receiving server cannot be reached",
    fix: "Resend the email later, or ask the person for another address.",
    wait: "The receiving server is down or the connection broke. There is nothing to do.",
  },
  tls: {
    what: () => "no secure connection to the receiving server is possible",
    fix: "The receiver must correct its certificate, or you can send without requiring TLS.",
    wait: "The email or the receiver requires a verified certificate. The receiver must correct its certificate.",
  },
  dane: {
    what: () => "the receiving server fails the DANE records of its domain",
    fix: "The receiver must correct its certificate or its TLSA records. Mail is never sent without them.",
    wait: "The receiver must correct its certificate, its TLSA records or its DNSSEC signatures. If the reply says that a lookup failed, this service's resolver may be at fault. Posthorn retries until then.",
  },
  protocol: {
    what: () => "the receiving server reports an error in the SMTP session",
    fix: "The reply below says which. Resend the email later.",
  },
  system: {
    what: () => "the receiving server has a technical problem",
    fix: "Resend the email later.",
    wait: "Usually this passes. There is nothing to do.",
  },
  expired: {
    what: () => "no attempt succeeded before retries ended",
    fix: "The last reply below says why. Resend the email when the receiver accepts mail again.",
  },
  interrupted: {
    what: () => "the last attempt was interrupted",
    fix: "Resend the email.",
    wait: "Posthorn was restarted during the attempt. There is nothing to do.",
  },
  internal: {
    what: () => "an internal error stopped it",
    fix: "Resend the email. If it fails again, ask the operator to read the server's log.",
    wait: "If it stays delayed, ask the operator to read the server's log.",
  },
  other: {
    what: () => "the receiver rejected it",
    whatNow: () => "the receiver refuses it for now",
    fix: "The reply below says why.",
  },
};

/** Failures within the service: no receiver rejected the email. */
export const failures: Record<string, Reason> = {
  content_lost: { what: () => "its content is lost", fix: "Send the email again from your program." },
  domain_deleted: {
    what: () => "the sending domain was deleted",
    fix: "Add the domain again, then resend the email.",
  },
  purged: {
    what: () => "it was removed from the queue",
    fix: "The mail that waited for this destination was purged. Resend the email if it is still needed.",
  },
};

/** A newer server may return categories that this page does not know. */
export function reasonOf(category: string): Reason {
  return reasons[category] ?? reasons.other!;
}

export function failureOf(category: string): Reason {
  return failures[category] ?? reasons[category] ?? reasons.internal!;
}

function domainOf(address: string): string {
  return address.slice(address.lastIndexOf("@") + 1);
}
