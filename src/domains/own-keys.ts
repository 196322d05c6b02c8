/** The methods of DKIM keys: list, import, export and removal. Part of DomainService. Private keys leave this file sealed, or in the answer
 * of an export; no log, error or audit entry has them. */
import { createPrivateKey } from "node:crypto";
import { actorOf, audited } from "../audit/record.ts";
import { labelProblem } from "../dns/name.ts";
import { pemProblem, primesIn, readSigningKey } from "../mail/private-key.ts";
import { invalid, notFound, Problem, type Violation } from "../ops/problem.ts";
import { fromWireId, makeUuid } from "../postgres/ids.ts";
import type { Sql } from "../postgres/pool.ts";
import type { Secrets } from "../postgres/sealing.ts";
import type { KeyGate } from "./key-pair.ts";
import { isFound } from "./rules/imported-keys.ts";
import { signingKeys } from "./rules/signing-key.ts";
import { listOwnKeys } from "./store/dkim-keys.ts";
import { type DomainRow, getDomain } from "./store/domains.ts";
import {
  addImportedKey,
  findPrivateKey,
  listImportedKeys,
  maxImportedKeys,
  removeImportedKey,
} from "./store/imported-keys.ts";
import { type DomainHandlers, importedKeyOnWire, ownKeyOnWire } from "./wire.ts";

export type OwnKeysDeps = { sql: Sql; secrets: Secrets; nowMs: () => number; keyGate: KeyGate };

type KeyHandlers = Pick<DomainHandlers, "getDkimKeys" | "importDkimKey" | "exportDkimKey" | "removeDkimKey">;

export function keyHandlers({ sql, secrets, nowMs, keyGate }: OwnKeysDeps): KeyHandlers {
  async function domainOf(workspaceId: string, wireId: string): Promise<DomainRow> {
    if (wireId === "") throw invalid([missingDomain]);
    const id = fromWireId("domain", wireId);
    const row = id && (await getDomain(sql, workspaceId, id));
    if (!row) throw notFound("domain", wireId);
    return row;
  }

  /** All keys of a domain, the imported ones first. */
  async function keysOf(row: DomainRow) {
    const [imported, own] = [
      await listImportedKeys(sql, row.workspaceId, row.id),
      await listOwnKeys(sql, row.workspaceId, row.id),
    ];
    const [signing] = signingKeys({
      imported: imported.filter(isFound),
      own: own.filter(({ signsFrom }) => signsFrom === null),
      foundSlots: row.signingSlots,
    });
    return [
      ...imported.map((key) => ({ id: key.id, wire: importedKeyOnWire(row, key, key.id === signing?.id) })),
      ...own.map((key) => ({ id: key.id, wire: ownKeyOnWire(row, key, key.id === signing?.id) })),
    ];
  }

  return {
    async getDkimKeys(request, call) {
      const row = await domainOf(call.caller.workspaceId, request.id);
      return { keys: (await keysOf(row)).map(({ wire }) => wire) };
    },

    async importDkimKey(request, call) {
      const { workspaceId } = call.caller;
      const selector = request.selector.trim().toLowerCase();
      const problems = request.id === "" ? [missingDomain] : [];
      problems.push(...selectorProblems(selector), ...pemProblems(pemProblem(request.privateKeyPem)));
      if (problems.length > 0) throw invalid(problems);
      const row = await domainOf(workspaceId, request.id);
      problems.push(...nameProblems(selector, row.domain));
      const reading = await keyGate(workspaceId, () => readSigningKey(request.privateKeyPem));
      if (!reading.ok) problems.push(...pemProblems(reading.problem));
      if (!reading.ok || problems.length > 0) throw invalid(problems);
      const { privateKeyPem, ...facts } = reading.key;
      const id = makeUuid(nowMs());
      const key = { id, selector, ...facts, privateKeySealed: secrets.seal(privateKeyPem, `dkim ${id}`) };
      call.beginWrite();
      const added = await audited(
        sql,
        actorOf(call.caller),
        (tx) => addImportedKey(tx, { workspaceId, domainId: row.id }, key),
        (result) =>
          result && typeof result === "object"
            ? { action: "domain.dkim_key_imported", workspaceId, target: { kind: "domain", id: row.id } }
            : undefined,
      );
      if (!added) throw notFound("domain", request.id);
      if (added === "taken") throw selectorTaken(selector, row.domain);
      if (added === "full") throw tooManyKeys(row.domain);
      const wire = importedKeyOnWire(row, added, false);
      return {
        key: wire,
        message: `The key is stored. Publish the TXT record ${wire.record!.name} with the value in key.record; the key signs mail of ${row.domain} once a check finds it.`,
      };
    },

    async exportDkimKey(request, call) {
      if (request.id === "") throw invalid([missingKey]);
      const { workspaceId } = call.caller;
      const id = fromWireId("dkimKey", request.id);
      call.beginWrite();
      const stored =
        id &&
        (await audited(
          sql,
          actorOf(call.caller),
          (tx) => findPrivateKey(tx, { workspaceId, id }),
          (found) =>
            found && {
              action: "domain.dkim_key_exported",
              workspaceId,
              target: { kind: "domain", id: found.domainId },
            },
        ));
      const row = stored && (await getDomain(sql, workspaceId, stored.domainId));
      const key = row && (await keysOf(row)).find((one) => one.id === id);
      if (!stored || !key) throw notFound("DKIM key", request.id);
      const privateKeyPem = secrets.open(stored.privateKeySealed, `dkim ${id}`);
      const primes = primesIn(createPrivateKey(privateKeyPem));
      const wire = { ...key.wire, primes, portable: primes === 2 };
      return { key: wire, privateKeyPem, message: exportMessage(wire) };
    },

    async removeDkimKey(request, call) {
      if (request.id === "") throw invalid([missingKey]);
      const { workspaceId } = call.caller;
      const id = fromWireId("dkimKey", request.id);
      const found = id && (await findPrivateKey(sql, { workspaceId, id }));
      if (!found) throw notFound("DKIM key", request.id);
      if (!found.imported) throw notImported();
      call.beginWrite();
      const removed = await audited(
        sql,
        actorOf(call.caller),
        (tx) => removeImportedKey(tx, { workspaceId, id }),
        (gone) =>
          gone && {
            action: "domain.dkim_key_removed",
            workspaceId,
            target: { kind: "domain", id: gone.domainId },
          },
      );
      if (!removed) throw notFound("DKIM key", request.id);
      return {
        message: `The key ${removed.selector} of ${removed.domain} is deleted and no longer signs. Keep its TXT record in DNS for 7 days: receivers verify mail in transit with it.`,
      };
    },
  };
}

const missingDomain: Violation = { field: "id", description: "is required: the id of a domain, dom_…" };
const missingKey: Violation = { field: "id", description: "is required: the id of a DKIM key, dk_…" };

/** RFC 6376 §3.1: a selector is one or several labels. */
function selectorProblems(selector: string): Violation[] {
  const wrong = (description: string) => [{ field: "selector", description }];
  if (selector === "") return wrong("is required: one or several DNS labels, for example s1");
  if (/^ph\d+$/.test(selector))
    return wrong(`${selector} is a selector of the keys that this service makes; use another one`);
  const labels = selector.split(".");
  if (labels.includes("")) return wrong("has an empty label: two dots in a row, or a dot at its start or end");
  const problem = labels.map((label) => labelProblem(label)).find((one) => one !== undefined);
  return problem === undefined ? [] : wrong(problem);
}

function pemProblems(problem: string | undefined): Violation[] {
  return problem === undefined ? [] : [{ field: "privateKeyPem", description: problem }];
}

function nameProblems(selector: string, domain: string): Violation[] {
  const { length } = `${selector}._domainkey.${domain}`;
  if (length <= 253) return [];
  return [
    { field: "selector", description: `is too long: together with ${domain} it makes a name of ${length} characters` },
  ];
}

function selectorTaken(selector: string, domain: string): Problem {
  return new Problem(
    "already_exists",
    `${domain} has an imported key with the selector ${selector}. Remove it with RemoveDkimKey first, or use another selector.`,
  );
}

function tooManyKeys(domain: string): Problem {
  return new Problem(
    "resource_exhausted",
    `${domain} has ${maxImportedKeys} imported keys, which is the limit. Remove one with RemoveDkimKey first.`,
  );
}

function notImported(): Problem {
  return new Problem(
    "failed_precondition",
    "This key was made by the service and stays as long as its domain. To replace it, call RotateDkim.",
  );
}

function exportMessage({ portable }: { portable: boolean }): string {
  const keep = "Anyone with this key can sign mail as your domain: store it like a password.";
  if (portable) return keep;
  return `${keep} It has three primes, which BoringSSL, AWS-LC and Windows cannot import, and Go signs slowly with. For a key that works everywhere, the operator sets POSTHORN_DKIM_PRIMES=2; then call RotateDkim and export the new key.`;
}
