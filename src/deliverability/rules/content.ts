/** Rules about what the message says: the sender, unsubscribing, hidden content, the subject, replies and the spam filter. judge.ts calls them. */
import { type Facts, fail, isUnanswered, notNeeded, pass, sentence, unknown, type Verdict, warn } from "./facts.ts";
import { valuesOf } from "./format.ts";

export function judgeAccepted({ refusal, domain }: Facts): Verdict {
  if (refusal === "") return pass(`Posthorn accepts the message and signs it for ${domain}.`);
  return fail(sentence(refusal), "Correct the message. Until then it cannot be sent.");
}

/** Domains of mailbox providers. Mail from these domains comes from the provider's servers only, and their DMARC policies say so. */
const mailboxProviders = [
  ...["gmail.com", "googlemail.com", "yahoo.com", "ymail.com", "aol.com", "outlook.com", "hotmail.com", "live.com"],
  ...["msn.com", "icloud.com", "me.com", "gmx.de", "gmx.net", "web.de", "mail.ru", "qq.com", "proton.me"],
];

export function judgeFromDomain({ fromDomain, domain }: Facts): Verdict {
  if (mailboxProviders.includes(fromDomain))
    return fail(
      `From is at ${fromDomain}, a mailbox provider. Receivers treat such mail as forged.`,
      `Send from an address at ${domain}. To get replies at ${fromDomain}, set replyToAddresses.`,
    );
  if (fromDomain !== domain)
    return fail(
      `From is at ${fromDomain}, not at ${domain}. SendEmail refuses it.`,
      `Register ${fromDomain}, or send from ${domain}.`,
    );
  return pass(`From is at ${fromDomain}.`);
}

export function judgeOneClick({ message, bulk }: Facts): Verdict {
  if (isUnanswered(message)) return unknown(sentence(message.unanswered));
  const [list] = valuesOf(message, "list-unsubscribe");
  const [post] = valuesOf(message, "list-unsubscribe-post");
  const fix =
    "Set unsubscribe to a topic, and Posthorn adds both headers and serves the address. Or add List-Unsubscribe: <https://…> and List-Unsubscribe-Post: List-Unsubscribe=One-Click yourself; the address must accept a POST without a sign-in.";
  if (list === undefined && post === undefined)
    return bulk
      ? fail("The message has no List-Unsubscribe header.", fix)
      : notNeeded("Only marketing and subscribed mail needs it. Check with bulk to require it.");
  // RFC 8058 §3.1: one https URI, and this exact text.
  const problems = [
    ...(/<https:\/\/[^>\s]+>/i.test(list ?? "") ? [] : ["List-Unsubscribe has no https address"]),
    ...(/^List-Unsubscribe\s*=\s*One-Click$/i.test(post ?? "")
      ? []
      : ["List-Unsubscribe-Post is missing or is not List-Unsubscribe=One-Click"]),
  ];
  if (problems.length > 0)
    return bulk ? fail(sentence(problems.join("; ")), fix) : warn(sentence(problems.join("; ")), fix);
  // RFC 8058 §4
  const unsigned = ["list-unsubscribe", "list-unsubscribe-post"].filter((name) => !message.signedFields.includes(name));
  if (unsigned.length > 0)
    return fail(
      `The DKIM signature does not cover ${unsigned.join(" and ")}.`,
      "Send through Posthorn, which signs both fields.",
    );
  return pass("Both headers are present, and the DKIM signature covers them.");
}

export function judgeUnsubscribeLink({ message, bulk }: Facts): Verdict {
  if (!bulk) return notNeeded("Only marketing and subscribed mail needs it.");
  if (isUnanswered(message)) return unknown(sentence(message.unanswered));
  const { text, html } = message;
  const addresses = (valuesOf(message, "list-unsubscribe")[0] ?? "").match(/https:\/\/[^>\s]+/gi) ?? [];
  const body = bounded(`${text}\n${html}`);
  if (
    /unsubscribe|opt[- ]?out|abmelde|abbestell|d[ée]sabonn|d[ée]sinscri|darse de baja|cancelar suscrip/i.test(body) ||
    addresses.some((one) => body.includes(one))
  )
    return pass("The text contains an unsubscribe link, or says how to unsubscribe.");
  return unknown(
    "No unsubscribe link was recognized in the text.",
    "Make sure that the text has a clearly visible link to unsubscribe.",
  );
}

/** Styles that hide text. Bounded, so that a large page costs little. */
const hiding =
  /display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?![.\d])|opacity\s*:\s*0(?![.\d])|mso-hide\s*:\s*all/i;

export function judgeHiddenContent({ message }: Facts): Verdict {
  if (isUnanswered(message)) return unknown(sentence(message.unanswered));
  if (message.html === "") return pass("The message has no HTML.");
  const found = hiding.exec(bounded(message.html))?.[0];
  if (!found) return pass("No style hides text.");
  return warn(
    `The HTML hides content with ${found.replace(/\s+/g, "")}. Gmail may treat that as spam.`,
    "Show all text. A short preview text at the top is common, but also counts.",
  );
}

export function judgeReplyPrefix({ message }: Facts): Verdict {
  if (isUnanswered(message)) return unknown(sentence(message.unanswered));
  const [subject = ""] = valuesOf(message, "subject");
  const prefix = /^(?:re|fwd?|aw|wg)\s*:/i.exec(subject)?.[0];
  const isReply = valuesOf(message, "in-reply-to").length > 0 || valuesOf(message, "references").length > 0;
  if (!prefix || isReply) return pass("The subject does not pretend to be a reply.");
  return warn(`The subject starts with ${prefix} but the message is not a reply.`, "Remove it, or set inReplyTo.");
}

export function judgeReplyAddress({ replies: { domain, receives } }: Facts): Verdict {
  if (isUnanswered(receives)) return unknown(sentence(receives.unanswered));
  if (receives) return pass(`${domain}, where replies go, has mail servers.`);
  return warn(
    `${domain}, where replies go, accepts no mail.`,
    "Set replyToAddresses to an address that is read, or publish MX records.",
  );
}

export function judgeSpamRate(): Verdict {
  return unknown(
    "Only the receivers know the rate. It must stay below 0.3 %.",
    "Watch it in Google Postmaster Tools and in Yahoo's Complaint Feedback Loop, and the complaints in the statistics here.",
  );
}

export function judgeSpamFilter({ spam }: Facts): Verdict {
  if (isUnanswered(spam))
    return unknown(sentence(spam.unanswered), "Check POSTHORN_SPAM_CHECK and that the filter runs.");
  if (!spam)
    return notNeeded("No spam filter is set up. The operator can set POSTHORN_SPAM_CHECK to rspamd or SpamAssassin.");
  const { filter, score, threshold, isSpam, rules } = spam;
  const against = rules.filter((rule) => rule.score > 0).slice(0, 5);
  const names = against.map((rule) => `${rule.name} (${rule.score})`).join(", ");
  const found = `${filter} gives ${score} of ${threshold} points${isSpam ? ", which is spam" : ""}.`;
  const why = names === "" ? "" : ` Rules that count against it: ${names}.`;
  if (isSpam || score >= threshold) return fail(found + why, "Change what these rules name.");
  if (score >= threshold / 2) return warn(found + why, "Change what these rules name, before the score rises.");
  return pass(found + why);
}

const boundedLength = 512 * 1024;

function bounded(text: string): string {
  return text.slice(0, boundedLength);
}
