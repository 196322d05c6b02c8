/** The check of posthorn doctor on reports about domains: whether receivers find their address, and when the last report came. */
import { joinText } from "../../../dns/record.ts";
import type { Resolver } from "../../../dns/resolver.ts";
import { reportRecord } from "../../../domains/service-zone.ts";
import { readReportState } from "../../../reports/store/state.ts";
import type { Config } from "../../config.ts";
import { withStore } from "../with-store.ts";
import type { Finding } from "./finding.ts";
import { withResolver } from "./network.ts";

const check = "reports";

export async function reportChecks(config: Config): Promise<Finding[]> {
  if (config.delivery === "capture") return [{ check, result: "ok", found: "not needed in capture mode" }];
  const state = await withStore(config, ({ sql }) => readReportState(sql));
  return await withResolver(config, async (resolver) => [await judge(config, resolver, state)]);
}

type ReportState = Awaited<ReturnType<typeof readReportState>>;

async function judge({ zone }: Config, resolver: Resolver, { domain, lastAt }: ReportState): Promise<Finding> {
  const fix = `Serve the records of reports.${zone}: restart the node with the role dns, or load the output of posthorn domains zone again.`;
  const mx = await resolver.lookup(`reports.${zone}`, "MX");
  const hosts = mx.kind === "found" ? mx.records.map(({ exchange }) => exchange.toLowerCase()) : [];
  if (!hosts.includes(`inbound.${zone}`))
    return { check, result: "warn", found: `reports.${zone} has no MX record to inbound.${zone} (${mx.kind})`, fix };
  if (domain === undefined)
    return { check, result: "ok", found: `reports.${zone} receives mail; no domain has a DKIM record yet` };
  const { name } = reportRecord(zone, domain);
  const authorization = await resolver.lookup(name, "TXT");
  const isThere = authorization.kind === "found" && authorization.records.some((one) => joinText(one) === "v=DMARC1;");
  if (!isThere)
    return { check, result: "warn", found: `receivers may not report about ${domain}: no TXT record at ${name}`, fix };
  const last = lastAt ? `the last report arrived at ${lastAt.toISOString()}` : "no report has arrived yet";
  return { check, result: "ok", found: `reports.${zone} receives mail and is authorized; ${last}` };
}
