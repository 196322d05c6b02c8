/** Rules about the machines that send: reverse DNS, HELO, TLS and blocklists. judge.ts calls them. */
import { noAddresses } from "./authentication.ts";
import {
  type DnsValue,
  type Facts,
  fail,
  isUnanswered,
  type Listing,
  pass,
  type SendingHost,
  unknown,
  type Verdict,
} from "./facts.ts";

const relayed = "The relay sends the mail, so this depends on the relay.";

export function judgePtr(facts: Facts): Verdict {
  if (facts.delivery === "relay") return unknown(relayed);
  const none = noAddresses(facts);
  if (none) return none;
  const missing: { host: SendingHost; why: string }[] = [];
  const silent: string[] = [];
  for (const host of facts.hosts) {
    const { address, ptr } = host;
    if (isUnanswered(ptr)) silent.push(`${address}: ${ptr.unanswered}`);
    else if (ptr.length === 0) missing.push({ host, why: `${address} has no PTR record` });
    else if (ptr.some(({ resolvesBack }) => resolvesBack === true)) continue;
    else if (ptr.some(({ resolvesBack }) => isUnanswered(resolvesBack)))
      silent.push(`${address}: DNS did not answer for ${ptr[0]!.name}`);
    else {
      const names = ptr.map(({ name }) => name).join(", ");
      missing.push({ host, why: `the PTR name of ${address}, ${names}, does not resolve to it` });
    }
  }
  if (missing.length > 0) {
    const wanted = missing.map(({ host }) => `that of ${host.address} to ${host.helo}`).join(", ");
    return fail(
      capital(`${missing.map(({ why }) => why).join("; ")}.`),
      `At the provider of the address, set its PTR record: ${wanted}. In DNS, point each name back to its address.`,
      missing.map(({ host }) => forwardRecord(host)),
    );
  }
  if (silent.length > 0) return unknown(capital(`${silent.join("; ")}.`));
  return pass(`Each of ${list(facts)} has a PTR name that resolves back to it.`);
}

export function judgeHelo(facts: Facts): Verdict {
  if (facts.delivery === "relay") return unknown(relayed);
  const none = noAddresses(facts);
  if (none) return none;
  const silent = facts.hosts.filter(({ heloAddresses }) => isUnanswered(heloAddresses));
  const wrong = facts.hosts.filter(
    ({ address, heloAddresses }) => !isUnanswered(heloAddresses) && !heloAddresses.includes(address),
  );
  if (wrong.length > 0) {
    const what = wrong.map(({ address, helo }) => `${helo} does not resolve to ${address}`).join("; ");
    return fail(
      capital(`${what}.`),
      "Point the name to the address in DNS, or set the right name in POSTHORN_HOSTNAME or POSTHORN_SOURCE_IPS.",
      wrong.map(forwardRecord),
    );
  }
  if (silent.length > 0) return unknown(`DNS did not answer for ${silent.map(({ helo }) => helo).join(", ")}.`);
  return pass(
    `HELO says ${[...new Set(facts.hosts.map(({ helo }) => helo))].join(", ")}, which resolves to the sending address.`,
  );
}

function forwardRecord({ address, helo }: SendingHost): DnsValue {
  return { type: address.includes(":") ? "AAAA" : "A", name: helo, value: address };
}

export function judgeTls({ delivery }: Facts): Verdict {
  if (delivery === "relay") return unknown(relayed);
  if (delivery === "capture") return unknown("In capture mode no mail leaves this machine.");
  return pass(
    "Posthorn uses STARTTLS with every receiver that offers it. The event of a delivery names the TLS version.",
  );
}

export function judgeAddressLists(facts: Facts): Verdict {
  if (facts.delivery === "relay") return unknown(relayed);
  const none = noAddresses(facts);
  if (none) return none.result === "fail" ? unknown(none.found, none.fix) : none;
  return judgeLists(facts.addressLists, "address");
}

export function judgeDomainLists({ domainLists }: Facts): Verdict {
  return judgeLists(domainLists, "domain");
}

const notAsked = {
  address: "The lists in POSTHORN_BLOCKLISTS are asked about public addresses only.",
  domain: "In direct and relay mode, lists with domain: in POSTHORN_BLOCKLISTS are asked.",
};

function judgeLists(listings: readonly Listing[], what: "address" | "domain"): Verdict {
  const by = (answer: Listing["answer"]) => listings.filter((one) => one.answer === answer);
  const listed = by("listed");
  if (listed.length > 0) {
    const where = listed.map(({ subject, list: name, detail }) => `${subject} at ${name} (${detail})`).join("; ");
    return fail(
      `Listed: ${where}.`,
      `Find the reason at the list's website, fix it, and ask for removal there. Receivers that use the list refuse mail from this ${what}.`,
    );
  }
  const open = [...by("refused"), ...by("unanswered")];
  if (open.length > 0) {
    const names = [...new Set(open.map(({ list: name, detail }) => `${name}: ${detail}`))].join("; ");
    const refused = by("refused").length > 0;
    return unknown(
      `Not all lists answered: ${names}.`,
      refused ? "Lists refuse public resolvers: set POSTHORN_RESOLVERS to a resolver of your own." : "",
    );
  }
  if (listings.length === 0) return unknown(`No list was asked about the ${what}.`, notAsked[what]);
  return pass(`Not listed at ${[...new Set(listings.map(({ list: name }) => name))].join(", ")}.`);
}

function list({ hosts }: Facts): string {
  return hosts.map(({ address }) => address).join(", ");
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
