/** Registers a sending domain: reads the name, makes its token and keys, stores all of it at once. Called by the API and the command line. */
import { randomBytes } from "node:crypto";
import { labelProblem, readDomainName } from "../mail/dns-name.ts";
import { isWithin } from "../mail/dns-record.ts";
import { checkTimes } from "../rules/check-plan.ts";
import { askedRecords, defaultMailFromLabel, dkimLabel } from "../rules/dns-records.ts";
import { judgedRecords } from "../rules/domain-result.ts";
import { summarise } from "../rules/domain-summary.ts";
import { invalid, Problem, type Violation } from "../rules/problem.ts";
import type { Sql } from "../store/db.ts";
import { addDomain, type DomainRow, findDomain, type NewDomain } from "../store/domains.ts";
import { makeUuid } from "../store/ids.ts";
import type { Secrets } from "../store/secrets.ts";
import type { KeyMaker } from "./key-pair.ts";

export type RegisterRequest = { workspaceId: string; domain: string; mailFromLabel: string };

export type Registrar = {
  /** `beginWrite` is called when all is ready to be stored. */
  register(request: RegisterRequest, beginWrite?: () => void): Promise<DomainRow>;
  /** A registration that is ready to be stored by the caller. */
  prepare(request: RegisterRequest): Promise<NewDomain>;
};

export type RegistrarDeps = {
  sql: Sql;
  secrets: Secrets;
  nowMs: () => number;
  makeKeys: KeyMaker;
  zone: string;
  region: string;
};

export function createRegistrar(deps: RegistrarDeps): Registrar {
  async function prepare(request: RegisterRequest): Promise<NewDomain> {
    const { workspaceId } = request;
    const { domain, mailFromLabel } = readNames(request, deps.zone);
    // Asked before the keys are made: a name that is there already must not cost a core its time.
    if (await findDomain(deps.sql, workspaceId, domain)) throw alreadyThere(domain);
    const pairs = await deps.makeKeys();
    const token = makeToken();
    return {
      ...{ id: makeUuid(deps.nowMs()), workspaceId, domain, token, mailFromLabel, region: deps.region },
      note: summarise(
        domain,
        "pending",
        judgedRecords(askedRecords({ domain, token, zone: deps.zone, mailFromLabel }), []),
      ).message,
      firstCheckMs: checkTimes.firstMs,
      keys: ([1, 2] as const).map((slot) => {
        const { publicKey, privateKeyPem } = pairs[slot - 1]!;
        const id = makeUuid(deps.nowMs());
        const privateKeySealed = deps.secrets.seal(privateKeyPem, `dkim ${id}`);
        return { id, slot, label: dkimLabel(token, slot), publicKey, privateKeySealed };
      }),
    };
  }

  return {
    prepare,
    async register(request, beginWrite = () => {}) {
      const domain = await prepare(request);
      beginWrite();
      const row = await addDomain(deps.sql, domain);
      if (!row) throw alreadyThere(domain.domain);
      return row;
    },
  };
}

/** Both names in their stored form, or all that is wrong with them at once. */
function readNames(request: RegisterRequest, zone: string): { domain: string; mailFromLabel: string } {
  const problems: Violation[] = [];
  const read = readDomainName(request.domain);
  const domain = read.ok ? read.name.ascii : "";
  if (!read.ok) problems.push({ field: "domain", description: read.reason });
  else if (isWithin(domain, zone))
    problems.push({
      field: "domain",
      description: `${domain} belongs to this service itself; register a domain of your own`,
    });
  const mailFromLabel = request.mailFromLabel.trim().toLowerCase() || defaultMailFromLabel;
  const wrong = labelProblem(mailFromLabel);
  if (wrong) problems.push({ field: "mailFromLabel", description: wrong });
  else if (mailFromLabel.length + 1 + domain.length > 253)
    problems.push({ field: "mailFromLabel", description: `makes a name of more than 253 characters with ${domain}` });
  if (problems.length > 0) throw invalid(problems);
  return { domain, mailFromLabel };
}

function alreadyThere(domain: string): Problem {
  return new Problem(
    "already_exists",
    `This workspace has ${domain} already. Get its records with GetDomain or ListDomains; to start anew, delete it first.`,
  );
}

/** 100 random bits in characters whose case DNS cannot lose: no two registrations ever ask for the same record. */
function makeToken(): string {
  const alphabet = "abcdefghijklmnopqrstuvwxyz234567";
  return Array.from(randomBytes(20), (byte) => alphabet[byte % 32]).join("");
}
