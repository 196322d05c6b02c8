/**
 * Domains that a workspace sends from: registration (here), DNS checks (checker.ts, check.ts, rules/), DKIM keys
 * (key-pair.ts, rotate.ts) and the zones that this service serves (service-zone.ts, publish.ts). Read checker.ts next.
 * This file validates the name, makes the token and two DKIM keys, and stores them. The API and the CLI call it.
 */
import { randomBytes } from "node:crypto";
import { type Actor, record } from "../audit/record.ts";
import { labelProblem, readDomainName } from "../dns/name.ts";
import { isAtOrBelow } from "../dns/record.ts";
import { invalid, Problem, type Violation } from "../ops/problem.ts";
import { makeUuid } from "../postgres/ids.ts";
import type { Sql } from "../postgres/pool.ts";
import type { Secrets } from "../postgres/sealing.ts";
import type { Quotas } from "../quotas/quotas.ts";
import type { KeyMaker } from "./key-pair.ts";
import { checkTimes } from "./rules/check-plan.ts";
import { defaultMailFromLabel, dkimLabel, expectedRecords } from "./rules/records.ts";
import { judgedRecords } from "./rules/result.ts";
import { summarize } from "./rules/summary.ts";
import { addDomain, type DomainRow, findDomain, type NewDomain } from "./store/domains.ts";

export type RegisterRequest = { workspaceId: string; domain: string; mailFromLabel: string };

export type Registrar = {
  /** Calls `beginWrite` right before the domain is stored. */
  register(request: RegisterRequest & { actor: Actor }, beginWrite?: () => void): Promise<DomainRow>;
  /** Validates the request and makes the keys, but leaves storing to the caller. */
  prepare(request: RegisterRequest): Promise<NewDomain>;
};

export type RegistrarDeps = {
  sql: Sql;
  secrets: Secrets;
  nowMs: () => number;
  makeKeys: KeyMaker;
  zone: string;
  region: string;
  /** Undefined for the operator's commands, which are not limited. */
  quotas?: Quotas;
};

export function createRegistrar(deps: RegistrarDeps): Registrar {
  async function prepare(request: RegisterRequest): Promise<NewDomain> {
    const { workspaceId } = request;
    const { domain, mailFromLabel } = readNames(request, deps.zone);
    const pairs = await deps.makeKeys(workspaceId, async () => {
      // Such a request must not cost the CPU time of two RSA keys.
      if (await findDomain(deps.sql, workspaceId, domain)) throw alreadyRegistered(domain);
      await deps.quotas?.check(workspaceId, "domains");
    });
    const token = makeToken();
    return {
      id: makeUuid(deps.nowMs()),
      workspaceId,
      domain,
      token,
      mailFromLabel,
      region: deps.region,
      note: summarize(
        domain,
        "pending",
        judgedRecords(expectedRecords({ domain, token, zone: deps.zone, mailFromLabel }), []),
      ).message,
      firstCheckMs: checkTimes.firstMs,
      keys: ([1, 2] as const).map((slot) => {
        const { publicKey, privateKeyPem, primes } = pairs[slot - 1]!;
        const id = makeUuid(deps.nowMs());
        const privateKeySealed = deps.secrets.seal(privateKeyPem, `dkim ${id}`);
        return { id, slot, label: dkimLabel(token, slot), publicKey, privateKeySealed, primes };
      }),
    };
  }

  return {
    prepare,
    async register(request, beginWrite = () => {}) {
      const domain = await prepare(request);
      beginWrite();
      const { workspaceId, actor } = request;
      const add = async (tx: Sql) => {
        const added = await addDomain(tx, domain);
        if (added)
          await record(tx, actor, { action: "domain.added", workspaceId, target: { kind: "domain", id: domain.id } });
        return added;
      };
      const row = await (deps.quotas ? deps.quotas.adding(workspaceId, "domains", add) : deps.sql.begin(add));
      if (!row) throw alreadyRegistered(domain.domain);
      return row;
    },
  };
}

/** Returns both names in their stored form, or throws one Problem that lists everything wrong with them. */
function readNames(request: RegisterRequest, zone: string): { domain: string; mailFromLabel: string } {
  const problems: Violation[] = [];
  const read = readDomainName(request.domain);
  const domain = read.ok ? read.name.ascii : "";
  if (!read.ok) problems.push({ field: "domain", description: read.reason });
  else if (isAtOrBelow(domain, zone))
    problems.push({
      field: "domain",
      description: `${domain} belongs to this service; register a domain that you own`,
    });
  const mailFromLabel = request.mailFromLabel.trim().toLowerCase() || defaultMailFromLabel;
  const wrong = labelProblem(mailFromLabel);
  if (wrong) problems.push({ field: "mailFromLabel", description: wrong });
  else if (mailFromLabel.length + 1 + domain.length > 253)
    problems.push({
      field: "mailFromLabel",
      description: `is too long: together with ${domain} it makes a name of more than 253 characters`,
    });
  if (problems.length > 0) throw invalid(problems);
  return { domain, mailFromLabel };
}

function alreadyRegistered(domain: string): Problem {
  return new Problem(
    "already_exists",
    `${domain} is already registered in this workspace. Read its records with GetDomain or ListDomains, or delete it to register it again.`,
  );
}

/** 100 random bits, so no two registrations share a record name. Lower case only, since DNS may change the case. */
function makeToken(): string {
  const alphabet = "abcdefghijklmnopqrstuvwxyz234567";
  return Array.from(randomBytes(20), (byte) => alphabet[byte % 32]).join("");
}
