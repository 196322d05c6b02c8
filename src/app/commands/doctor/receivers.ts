/** The check of posthorn doctor on receivers that keep connections open without an answer. */
import { listStalledSites, type StalledSite } from "../../../delivery/store/sites.ts";
import type { Config } from "../../config.ts";
import { withStore } from "../with-store.ts";
import type { Finding } from "./finding.ts";

const shownSites = 10;

export async function receiverChecks(config: Config): Promise<Finding[]> {
  const stalled = await withStore(config, ({ sql }) => listStalledSites(sql, shownSites));
  if (stalled.length === 0) return [{ check: "receivers", result: "ok", found: "no receiver has stopped answering" }];
  return stalled.map((site) => ({
    check: "receivers",
    result: "warn",
    found: describe(site),
    fix: "Its mail waits while one email at a time probes it; other receivers are not affected. If it is your relay or firewall, check that.",
  }));
}

function describe({ site, since, recipients }: StalledSite): string {
  const held = recipients === 1 ? "1 recipient is" : `${recipients} recipients are`;
  return `${site} has not answered since ${since.toISOString()}; ${held} in delivery`;
}
