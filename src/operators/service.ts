/** `operators` manages the people and workspaces of the whole service. This file is OperatorService; the gate admits only operators whose
 * session has a second factor. Parts: people.ts and workspaces.ts (the changes), system-mail.ts (mail of the service), deletion.ts (deletes workspaces in the background),
 * export.ts (writes all data of a workspace or a person to a folder), store/ (SQL), wire.ts. Next: workspaces.ts, then deletion.ts. */
import { create } from "@bufbuild/protobuf";
import { actorOf } from "../audit/record.ts";
import { createAuditReader } from "../audit/service.ts";
import { listWordings } from "../delivery/store/wordings.ts";
import { filtersFrom } from "../emails/wire.ts";
import { ListEmailsRequestSchema } from "../gen/v1/email_pb.ts";
import { OperatorService } from "../gen/v1/operator_pb.ts";
import { serve } from "../http/call.ts";
import { cutPage, keysetPage } from "../http/paging.ts";
import type { Clock } from "../ops/clock.ts";
import { invalid, Problem } from "../ops/problem.ts";
import { fromWireId } from "../postgres/ids.ts";
import type { Sql } from "../postgres/pool.ts";
import type { Wake } from "../postgres/wake.ts";
import type { QuotaDefaults } from "../quotas/rules/limits.ts";
import { readAddress } from "../suppressions/rules.ts";
import { readEmail } from "../workspaces/rules.ts";
import { deletePerson, disablePerson, enablePerson } from "./people.ts";
import { getPersonEntry, listPersonEntries } from "./store/people.ts";
import { listSystemMail, removeSystemSuppression } from "./system-mail.ts";
import {
  changesFrom,
  disabledFrom,
  personOnWire,
  stateFrom,
  systemMailOnWire,
  wordingOnWire,
  workspaceOnWire,
} from "./wire.ts";
import {
  changeQuotas,
  defaultReason,
  deleteWorkspace,
  listWorkspaceEntries,
  longestReason,
  type ProviderWorkspace,
  readEntry,
  resumeWorkspace,
  suspendWorkspace,
  type WorkspaceEntry,
} from "./workspaces.ts";

export type OperatorServiceDeps = {
  sql: Sql;
  clock: Clock;
  wake: Pick<Wake, "notify">;
  defaults: QuotaDefaults;
  providers: readonly ProviderWorkspace[];
};

export function createOperatorService({ sql, clock, wake, defaults, providers }: OperatorServiceDeps) {
  const readWorkspace = async (wireId: string): Promise<WorkspaceEntry> => {
    if (wireId === "") throw required("workspaceId", "ws_…");
    const id = fromWireId("workspace", wireId);
    const found = id && (await readEntry(sql, id));
    if (!found) throw unknown("workspace", wireId);
    return found;
  };
  const changedWorkspace = async ({ id }: WorkspaceEntry) => {
    const after = await readEntry(sql, id);
    return { workspace: after && workspaceOnWire(after, defaults) };
  };

  const audit = createAuditReader(sql);
  return serve(OperatorService, {
    listServiceAuditEntries: (request) => audit.list(request, undefined),
    exportServiceAuditEntries: (request, call) => audit.export(request, call, undefined),

    async listPeople(request) {
      const page = keysetPage(request);
      const { operatorsOnly } = request;
      const filter = { query: request.query.trim(), disabled: disabledFrom(request.state), operatorsOnly };
      const rows = await listPersonEntries(sql, filter, { before: page.before, limit: page.limit + 1 });
      const cut = cutPage(rows, page.limit);
      return { data: cut.rows.map(personOnWire), nextPageToken: cut.nextPageToken };
    },

    async disablePerson(request, call) {
      const personId = personIdFrom(request.id);
      call.beginWrite();
      const { revokeKeys } = request;
      const done = await disablePerson(sql, { personId, revokeKeys, actor: actorOf(call.caller) });
      if (!done) throw unknown("person", request.id);
      const { person, revokedKeys } = done;
      const keys = keysSentence(person.validKeys, revokedKeys);
      const message = `${person.email} is disabled: every session has ended, and they cannot sign in.${keys}`;
      return { person: personOnWire(person), message };
    },

    async enablePerson(request, call) {
      const personId = personIdFrom(request.id);
      call.beginWrite();
      const done = await enablePerson(sql, { personId, actor: actorOf(call.caller) });
      if (!done) throw unknown("person", request.id);
      return { person: personOnWire(done.person), message: `${done.person.email} can sign in again.` };
    },

    async deletePerson(request, call) {
      const personId = personIdFrom(request.id);
      const person = await getPersonEntry(sql, personId);
      if (!person) throw unknown("person", request.id);
      if (readEmail(request.email) !== person.email)
        throw invalid([{ field: "email", description: "must be the address of the person, as a confirmation" }]);
      call.beginWrite();
      const { revokeKeys } = request;
      const done = await deletePerson(sql, { personId, revokeKeys, actor: actorOf(call.caller) });
      if (!done) throw unknown("person", request.id);
      return { message: `${done.email} is deleted.${keysSentence(done.validKeys, done.revokedKeys)}` };
    },

    async listAllWorkspaces(request) {
      const page = keysetPage(request);
      const filter = { query: request.query.trim(), state: stateFrom(request.state) };
      const cut = cutPage(await listWorkspaceEntries(sql, filter, page), page.limit);
      return { data: cut.rows.map((row) => workspaceOnWire(row, defaults)), nextPageToken: cut.nextPageToken };
    },

    async listUnknownWordings(request) {
      const page = keysetPage(request);
      const site = request.site.trim().toLowerCase() || undefined;
      const cut = cutPage(await listWordings(sql, { before: page.before, limit: page.limit + 1, site }), page.limit);
      return { data: cut.rows.map(wordingOnWire), nextPageToken: cut.nextPageToken };
    },

    async listSystemMail(request) {
      const page = keysetPage(request);
      const { search, outcomes } = request;
      const filter = filtersFrom(create(ListEmailsRequestSchema, { search, outcomes }), "");
      const { rows, resumeBefore } = await listSystemMail(sql, filter, { before: page.before, limit: page.limit + 1 });
      const cut = cutPage(rows, page.limit, resumeBefore);
      return { data: cut.rows.map(systemMailOnWire), nextPageToken: cut.nextPageToken };
    },

    async removeSystemSuppression(request, call) {
      const read = readAddress(request.address);
      if (!read.ok) throw invalid([{ field: "address", description: read.reason }]);
      call.beginWrite();
      const removed = await removeSystemSuppression(sql, read.address, actorOf(call.caller));
      return { message: `${removed} gets mail of the service again.` };
    },

    async suspendWorkspace(request, call) {
      const workspace = await readWorkspace(request.workspaceId);
      const reason = request.reason.trim() || defaultReason;
      if (reason.length > longestReason || /\p{Cc}/u.test(reason))
        throw invalid([{ field: "reason", description: `must be one line of at most ${longestReason} characters` }]);
      call.beginWrite();
      await suspendWorkspace(sql, { workspace, reason, nowMs: clock.nowMs(), actor: actorOf(call.caller) });
      wake.notify("events");
      return await changedWorkspace(workspace);
    },

    async resumeWorkspace(request, call) {
      const workspace = await readWorkspace(request.workspaceId);
      call.beginWrite();
      await resumeWorkspace(sql, { workspace, nowMs: clock.nowMs(), actor: actorOf(call.caller) });
      wake.notify("events");
      wake.notify("mail");
      return await changedWorkspace(workspace);
    },

    async setQuotas(request, call) {
      const changes = changesFrom(request.quotas);
      const workspace = await readWorkspace(request.workspaceId);
      call.beginWrite();
      await changeQuotas(sql, { workspace, changes, actor: actorOf(call.caller) });
      return await changedWorkspace(workspace);
    },

    async deleteWorkspace(request, call) {
      const workspace = await readWorkspace(request.workspaceId);
      if (request.name.trim() !== workspace.name.trim())
        throw invalid([{ field: "name", description: "must be the name of the workspace, as a confirmation" }]);
      call.beginWrite();
      await deleteWorkspace(sql, { workspace, actor: actorOf(call.caller), providers });
      return {
        message: `${workspace.name} is out of service, and its data is being deleted. Its DKIM keys stay in DNS for 7 days.`,
      };
    },
  });
}

function personIdFrom(wireId: string): string {
  if (wireId === "") throw required("id", "per_…");
  const id = fromWireId("person", wireId);
  if (!id) throw unknown("person", wireId);
  return id;
}

function required(field: string, form: string): Problem {
  return invalid([{ field, description: `is required: an id such as ${form}` }]);
}

function unknown(what: "person" | "workspace", id: string): Problem {
  return new Problem("not_found", `This service has no ${what} with the id ${JSON.stringify(id.slice(0, 100))}.`);
}

/** Keys belong to workspaces, so they work without the person who created them. */
export function keysSentence(valid: number, revoked: number): string {
  if (revoked > 0) return ` Revoked keys that they created: ${revoked}.`;
  return valid > 0 ? ` Keys that they created and that stay valid: ${valid}.` : "";
}
