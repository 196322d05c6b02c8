/** DeliverabilityService: finds the domain and the sample of a call, and checks them within the share of the workspace. */

import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { readDomainName } from "../dns/name.ts";
import { type DomainRow, findDomain, getDomain } from "../domains/store/domains.ts";
import { readOutgoing } from "../emails/outgoing.ts";
import type { SendLimits } from "../emails/rules/request.ts";
import { readContents } from "../emails/store/content.ts";
import { ContentGone } from "../emails/store/parts.ts";
import { getEmail } from "../emails/store/reads.ts";
import { sendRequestFrom } from "../emails/wire.ts";
import { type CheckDeliverabilityRequest, DeliverabilityService } from "../gen/v1/deliverability_pb.ts";
import { type Call, serve } from "../http/call.ts";
import { systemKeyId } from "../keys/store.ts";
import { parseAddress } from "../mail/address.ts";
import type { Submitted } from "../mail/submitted/prepare.ts";
import type { ContentStore } from "../objects/content-store.ts";
import { invalid, notFound, Problem } from "../ops/problem.ts";
import { fromWireId, toWireId } from "../postgres/ids.ts";
import type { Sql } from "../postgres/pool.ts";
import { createBudget, runOrRefuse } from "../shares/budget.ts";
import { createTokenBuckets } from "../shares/token-bucket.ts";
import { type UnsubscribeLinks, unsubscribeFields } from "../suppressions/unsubscribe/links.ts";
import type { Checked, CheckInput } from "./check.ts";
import { counted, overall, summarize } from "./rules/judge.ts";
import {
  ownSample,
  refusedSample,
  type Sample,
  sampleFrom,
  sampleFromStored,
  sampleFromSubmitted,
  withFields,
} from "./sample.ts";
import { checkOnWire, resultOnWire } from "./wire.ts";

export type DeliverabilityServiceDeps = {
  sql: Sql;
  /** Undefined: all content is in the database. */
  contents?: ContentStore;
  limits: SendLimits;
  nowMs: () => number;
  check(input: CheckInput): Promise<Checked>;
  /** Reads a whole message as submission does, off the event loop if it is large. */
  prepare(workspaceId: string, raw: Buffer): Promise<Submitted | { reply: string }>;
  unsubscribeLinks: Pick<UnsubscribeLinks, "make">;
  /** The operator's commands have no rate limit. */
  isLimited: boolean;
};

/** A check asks DNS some fifty questions and makes two signatures. */
const checksPerMinute = 10;
const maxWorkspaces = 10_000;
const checksAtOnce = 16;
const checksPerWorkspace = 2;

export function createDeliverabilityService(deps: DeliverabilityServiceDeps) {
  const { sql } = deps;
  const rate = createTokenBuckets({
    burst: checksPerMinute,
    periodMs: 60_000 / checksPerMinute,
    maxKeys: maxWorkspaces,
  });
  const budget = createBudget({ total: checksAtOnce, perOwner: checksPerWorkspace });

  return serve(DeliverabilityService, {
    async checkDeliverability(request, call) {
      requireOneSample(request);
      requireScope(request, call);
      const row = await findRow(request, call);
      requireAllowed(row, call);
      takeToken(call);
      const { signal } = call.cancellation;
      const owner = call.caller.workspaceId;
      const options = { budget, owner, maxWaiting: checksPerWorkspace, refusal: tooManyChecks, signal };
      return await runOrRefuse(options, async () => {
        const sample = await withLink(await sampleOf(request, row, call), call);
        const { bulk } = request;
        return answerOf(row, sample, await deps.check({ row, sample, bulk, signal }));
      });
    },
  });

  function takeToken({ caller }: Call): void {
    if (!deps.isLimited) return;
    const { waitMs } = rate.take(caller.workspaceId, performance.now());
    if (waitMs > 0) throw tooOften(waitMs);
  }

  async function findRow(request: CheckDeliverabilityRequest, call: Call): Promise<DomainRow> {
    const { workspaceId } = call.caller;
    if (request.domainId !== "") {
      const id = fromWireId("domain", request.domainId);
      const row = id && (await getDomain(sql, workspaceId, id));
      if (!row) throw notFound("domain", request.domainId);
      return row;
    }
    const name = request.domain || (await senderDomain(request, call));
    if (name === undefined)
      throw invalid([{ field: "domain", description: "is required: the name of a domain, or its id in domainId" }]);
    const read = readDomainName(name);
    const row = read.ok ? await findDomain(sql, workspaceId, read.name.ascii) : undefined;
    if (!row)
      throw new Problem(
        "not_found",
        `This workspace has no domain ${JSON.stringify(name.slice(0, 253))}. Register it with AddDomain, or name another one.`,
      );
    return row;
  }

  async function senderDomain({ email, emailId }: CheckDeliverabilityRequest, call: Call): Promise<string | undefined> {
    if (emailId !== "") return (await findEmail(emailId, call)).envelope.from.domain;
    const from = parseAddress(email?.from ?? "");
    return from.ok ? from.address.domain : undefined;
  }

  async function findEmail(wireId: string, call: Call) {
    const { workspaceId } = call.caller;
    const id = fromWireId("email", wireId);
    const row = id && (await getEmail(sql, workspaceId, id));
    if (!row) throw notFound("email", wireId);
    if (row.keyId === systemKeyId)
      throw new Problem("permission_denied", "Posthorn sent this email to a person about their account.");
    return row;
  }

  async function sampleOf(request: CheckDeliverabilityRequest, row: DomainRow, call: Call): Promise<Sample> {
    const { domain } = row;
    const nowMs = deps.nowMs();
    if (request.emailId !== "") return await storedSample(request.emailId, call);
    if (request.raw.length > 0) return await rawSample(Buffer.from(request.raw), domain, call);
    if (!request.email) return ownSample(domain, nowMs);
    const sample = sampleFrom(sendRequestFrom(request.email), { domain, nowMs, limits: deps.limits });
    const attached = request.email.attachments.reduce((sum, { base64Content }) => sum + base64Content.length, 0);
    await call.reserveAnswer?.(2 * (attached + request.email.body.length + request.email.html.length));
    return sample;
  }

  /** As the link of a test email that is not stored: using it changes nothing. */
  async function withLink(sample: Sample, { caller }: Call): Promise<Sample> {
    const { unsubscribe, content, fromDomain } = sample;
    if (!unsubscribe || "refused" in content) return sample;
    const emailId = fromWireId("email", content.email.id)!;
    const link = { ...unsubscribe, workspaceId: caller.workspaceId, emailId, domain: fromDomain, test: true };
    return withFields(sample, unsubscribeFields(await deps.unsubscribeLinks.make(link)));
  }

  async function storedSample(wireId: string, call: Call): Promise<Sample> {
    const row = await findEmail(wireId, call);
    const { workspaceId } = call.caller;
    // The stored parts and the composed message, which encodes attachments as base64.
    await call.reserveAnswer?.(3 * Number(row.sizeBytes));
    const isSubmitted = row.envelope.submitted !== undefined;
    const contents = await readContents(
      sql,
      [{ workspaceId, emailId: row.id, day: row.contentDay, isSubmitted }],
      deps.contents,
    );
    const parts = contents.get(row.id);
    if (!parts) throw new Problem("not_found", `The content of ${wireId} was deleted after its retention period.`);
    const email = { ...row, date: row.scheduledAt ?? row.createdAt };
    const outgoing = await readOutgoing(email, parts).catch((error) => {
      throw error instanceof ContentGone ? new Problem("not_found", error.message) : error;
    });
    return sampleFromStored(outgoing);
  }

  async function rawSample(raw: Buffer, domain: string, call: Call): Promise<Sample> {
    if (raw.length > deps.limits.messageBytes)
      throw invalid([
        {
          field: "raw",
          description: `has ${raw.length} bytes, at most ${deps.limits.messageBytes} are allowed; send links to large files`,
        },
      ]);
    await call.reserveAnswer?.(3 * raw.length);
    const prepared = await deps.prepare(call.caller.workspaceId, raw);
    if ("reply" in prepared) return refusedSample(raw, prepared.reply.replace(/^\d{3} (?:\d\.\d+\.\d+ )?/, ""), domain);
    return sampleFromSubmitted(prepared, { raw, domain, nowMs: deps.nowMs(), limits: deps.limits });
  }

  function answerOf(row: DomainRow, sample: Sample, checked: Checked) {
    const { checks, spam, sizeBytes, longestLine, returnPathDomain, signedWith } = checked;
    const isSigned = "email" in sample.content;
    return {
      domainId: toWireId("domain", row.id),
      domain: row.domain,
      result: resultOnWire[overall(counted(checks))],
      summary: summarize(counted(checks), row.domain),
      checks: checks.map(checkOnWire),
      sample: {
        isOwn: sample.isOwn,
        sizeBytes,
        longestLine,
        fromDomain: sample.fromDomain,
        returnPathDomain,
        signedWith: isSigned ? signedWith : "",
      },
      spam,
      checkedAt: timestampFromMs(deps.nowMs()),
    };
  }
}

function requireOneSample({ email, emailId, raw }: CheckDeliverabilityRequest): void {
  const given = [
    ...(email ? ["email"] : []),
    ...(emailId === "" ? [] : ["emailId"]),
    ...(raw.length === 0 ? [] : ["raw"]),
  ];
  if (given.length > 1)
    throw invalid([{ field: given[1]!, description: `cannot be combined with ${given[0]}; set one sample` }]);
}

/** The result tells something about the content of a sent email. */
function requireScope({ emailId }: CheckDeliverabilityRequest, { caller }: Call): void {
  if (emailId !== "" && caller.permission === "scoped" && !caller.limits?.scopes?.includes("emails"))
    throw new Problem("permission_denied", "This key needs KEY_SCOPE_EMAILS to check a sent email.");
}

function requireAllowed({ domain }: DomainRow, { caller }: Call): void {
  const allowed = caller.limits?.domains;
  if (allowed && !allowed.includes(domain))
    throw new Problem(
      "permission_denied",
      `This key may only be used for ${allowed.slice(0, 5).join(", ")}, not for ${domain}.`,
    );
}

function tooOften(waitMs: number): Problem {
  return new Problem(
    "resource_exhausted",
    `A workspace may make ${checksPerMinute} checks a minute. Retry in ${Math.ceil(waitMs / 1000)} seconds.`,
    { retryAfterMs: waitMs },
  );
}

function tooManyChecks(): Problem {
  return new Problem(
    "resource_exhausted",
    "This workspace has too many checks in progress. Wait for them, and retry in a few seconds.",
    { retryAfterMs: 5_000 },
  );
}
