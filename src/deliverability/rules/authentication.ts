/** Rules about SPF, DKIM and DMARC: whether receivers can tell that the mail comes from its sender. judge.ts calls them. */
import { type Facts, fail, isUnanswered, pass, sentence, unknown, type Verdict, warn } from "./facts.ts";

const tryAgain = "Check again in a minute. If it stays so, check POSTHORN_RESOLVERS and the domain's name servers.";

export function judgeDkim({ dkim, domain }: Facts): Verdict {
  if (isUnanswered(dkim)) return unknown(sentence(dkim.unanswered), tryAgain);
  if (!dkim)
    return fail(
      `${domain} has no DKIM key, so its mail cannot be signed.`,
      "Delete the domain and register it again, or rotate its key with RotateDkim.",
    );
  const { name, result, comment, records, imported } = dkim;
  if (result === "pass") return pass(`The signature verifies with the key at ${name}.`);
  if (result === "temperror") return unknown(`DNS did not answer for ${name}.`, tryAgain);
  const why = comment === "" ? result : `${result}: ${comment}`;
  return fail(
    `Receivers cannot verify the signature with the key at ${name} (${why}).`,
    imported === undefined
      ? "Publish the DKIM records of the domain at its DNS provider."
      : `Publish the record of the imported key, or remove the key, so that another one signs: posthorn domains remove-key ${domain} ${imported}`,
    records,
  );
}

const minBits = 1024;
const goodBits = 2048;

export function judgeDkimKey({ dkim, domain }: Facts): Verdict {
  if (isUnanswered(dkim)) return unknown(sentence(dkim.unanswered), tryAgain);
  if (!dkim) return unknown(`${domain} has no DKIM key.`);
  const { bits, imported } = dkim;
  const fix =
    imported === undefined
      ? `Replace the key by one of ${goodBits} bits: posthorn domains rotate ${domain}`
      : `Import a key of ${goodBits} bits in its place: posthorn domains import-key ${domain} SELECTOR FILE`;
  if (bits < minBits) return fail(`The key has ${bits} bits; receivers require ${minBits}.`, fix);
  if (bits < goodBits) return warn(`The key has ${bits} bits. That is accepted, but ${goodBits} are recommended.`, fix);
  return pass(`The key has ${bits} bits.`);
}

export function judgeSpf(facts: Facts): Verdict {
  const { spf, delivery, returnPathDomain } = facts;
  if (isUnanswered(spf)) return unknown(sentence(spf.unanswered), tryAgain);
  if (delivery === "relay")
    return unknown(
      `The relay sends the mail, and Posthorn does not know its addresses.`,
      `Make sure that the SPF record of ${returnPathDomain} authorizes the relay.`,
    );
  const none = noAddresses(facts);
  if (none) return none;
  const silent = spf.filter(({ result }) => result === "temperror");
  const failed = spf.filter(({ result }) => result !== "pass" && result !== "temperror");
  if (failed.length > 0) {
    const what = failed.map(({ address, result }) => `${address} (${result})`).join(", ");
    return fail(
      `SPF for ${returnPathDomain} does not pass for ${what}.`,
      "Publish these records, and list every sending address in POSTHORN_PUBLIC_IPS.",
      facts.spfRecords,
    );
  }
  if (silent.length > 0) return unknown(`DNS did not answer for the SPF record of ${returnPathDomain}.`, tryAgain);
  return pass(`SPF for ${returnPathDomain} passes for ${spf.map(({ address }) => address).join(", ")}.`);
}

/** The verdict when it is not known which addresses send. */
export function noAddresses({ hosts, delivery }: Facts): Verdict | undefined {
  if (hosts.length > 0) return undefined;
  const fix = "Set POSTHORN_PUBLIC_IPS to the addresses that mail is sent from.";
  if (delivery === "capture") return unknown("In capture mode no mail leaves this machine.", fix);
  return fail("No sending address is set.", fix);
}

export function judgeAlignment(facts: Facts): Verdict {
  const { domain, fromDomain, returnPathDomain, dmarc, organizations, mailFromRecords } = facts;
  const mode = isUnanswered(dmarc) ? { dkim: "r", spf: "r" } : dmarc.alignment;
  // DMARC's identifier alignment. Strict: the same name. Relaxed: the same organizational domain.
  const isAligned = (authenticated: string, strictness: string): boolean | undefined => {
    if (authenticated === fromDomain || strictness === "s") return authenticated === fromDomain;
    const [one, other] = [organizations.get(authenticated), organizations.get(fromDomain)];
    return one !== undefined && other !== undefined ? one === other : undefined;
  };
  const dkim = isAligned(domain, mode.dkim);
  const spf = isAligned(returnPathDomain, mode.spf);
  if (dkim === undefined || spf === undefined)
    return unknown(`DNS did not answer for the organizational domain of ${fromDomain}.`, tryAgain);
  if (!dkim && !spf)
    return fail(
      `From is at ${fromDomain}, but the signature is of ${domain} and the return path at ${returnPathDomain}.`,
      `Send from an address at ${domain}, or check the domain ${fromDomain}.`,
    );
  if (dkim && spf) return pass(`From at ${fromDomain} is aligned with DKIM and with SPF.`);
  if (dkim)
    return warn(
      `From at ${fromDomain} is aligned with DKIM, but not with SPF: the return path is at ${returnPathDomain}.`,
      "Publish the MAIL FROM records, so that SPF counts for DMARC too.",
      mailFromRecords,
    );
  return warn(
    `From at ${fromDomain} is aligned with SPF, but not with DKIM: the signature is of ${domain}.`,
    `Send from an address at ${domain}.`,
  );
}

const nextStep: Record<string, string> = {
  none: "That is enough today. Next, when reports show that all your mail is aligned: p=quarantine, then p=reject.",
  quarantine: "Next, when reports show no loss: p=reject.",
  reject: "That is the strictest policy.",
};

export function judgeDmarc({ dmarc, fromDomain }: Facts): Verdict {
  if (isUnanswered(dmarc)) return unknown(sentence(dmarc.unanswered), tryAgain);
  const { status, value, note, policy, testing, assumed, record } = dmarc;
  if (status === "missing") return fail(`${fromDomain} has no DMARC record.`, "Publish this TXT record.", [record]);
  if (status === "mismatch")
    return fail(sentence(`${note}: ${value}`), "Replace it by one valid record, such as this one.", [record]);
  if (assumed !== undefined)
    return warn(
      sentence(`${assumed}, so receivers that follow RFC 9989 read the record as p=none, and others may ignore it`),
      "Write a policy after v=DMARC1, such as p=none.",
    );
  // RFC 9989 §4.7: in test mode, receivers apply one level less.
  if (testing && policy !== "none")
    return pass(
      `The policy is p=${policy} in test mode (t=y): receivers apply ${policy === "reject" ? "quarantine" : "none"}. Next, when reports show no loss: remove t=y.`,
    );
  return pass(`The policy is p=${policy}. ${nextStep[policy] ?? ""}`.trim());
}

export function judgeDmarcReports({ dmarc, fromDomain }: Facts): Verdict {
  if (isUnanswered(dmarc)) return unknown(sentence(dmarc.unanswered), tryAgain);
  const { status, reportsTo, value, record } = dmarc;
  if (status !== "found")
    return warn(`${fromDomain} gets no reports without a DMARC record.`, "Publish one.", [record]);
  if (reportsTo.length > 0) return pass(`Receivers send reports to ${reportsTo.slice(0, 3).join(", ")}.`);
  const found = "The DMARC record has no rua= tag with a valid address, so receivers send no reports.";
  if (dmarc.isInherited)
    return warn(found, "Add rua=mailto: with an address that reads them to the record of the parent domain.");
  const rua = record.value.slice(record.value.indexOf("rua="));
  // RFC 6376 §3.2: with a second rua=, receivers would ignore the whole record.
  const others = value.split(";").filter((tag) => tag.trim() !== "" && !/^\s*rua\s*=/i.test(tag));
  return warn(found, "Add an address that reads them. Posthorn reads those that it gets at this one.", [
    { ...record, value: [...others.map((tag) => tag.trim()), rua].join("; ") },
  ]);
}
