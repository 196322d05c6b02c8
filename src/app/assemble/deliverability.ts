/** Wires the checks of deliverability. Called by assemble.ts and by commands. */

import { createDeliverabilityCheck } from "../../deliverability/check.ts";
import { sendingHosts } from "../../deliverability/sending-hosts.ts";
import { createDeliverabilityService } from "../../deliverability/service.ts";
import type { Composer } from "../../delivery/compose/pool.ts";
import type { Resolver } from "../../dns/resolver.ts";
import type { ServiceEntry } from "../../http/call.ts";
import type { Reader } from "../../inbound/reader.ts";
import { isCheap } from "../../mail/submitted/cost.ts";
import { SubmittedProblem } from "../../mail/submitted/fields.ts";
import { prepare, type Submitted } from "../../mail/submitted/prepare.ts";
import type { ContentStore } from "../../objects/content-store.ts";
import type { Sql } from "../../postgres/pool.ts";
import type { Secrets } from "../../postgres/sealing.ts";
import type { UnsubscribeLinks } from "../../suppressions/unsubscribe/links.ts";
import type { Config } from "../config.ts";

export function createDeliverability(deps: {
  config: Config;
  sql: Sql;
  contents: ContentStore | undefined;
  secrets: Secrets;
  resolver: Resolver;
  composer: Composer;
  reader: Pick<Reader, "prepare" | "texts">;
  unsubscribeLinks: Pick<UnsubscribeLinks, "make">;
  nowMs: () => number;
  isLimited: boolean;
}): ServiceEntry {
  const { config, sql, contents, secrets, resolver, composer, reader, unsubscribeLinks, nowMs, isLimited } = deps;
  const { zone, delivery, blocklists, spamFilter, limits } = config;
  const check = createDeliverabilityCheck({
    sql,
    secrets,
    zone,
    delivery,
    hosts: sendingHosts(config),
    blocklists,
    spamFilter,
    resolver,
    composer,
    readTexts: reader.texts,
    nowMs,
  });
  return createDeliverabilityService({
    sql,
    contents,
    limits,
    nowMs,
    check,
    prepare: (workspaceId, raw) => (isCheap(raw) ? prepareNow(raw) : reader.prepare(workspaceId, raw, [])),
    unsubscribeLinks,
    isLimited,
  });
}

async function prepareNow(raw: Buffer): Promise<Submitted | { reply: string }> {
  try {
    return prepare(raw, []);
  } catch (error) {
    if (error instanceof SubmittedProblem) return { reply: error.message };
    throw error;
  }
}
