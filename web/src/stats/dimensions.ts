/** The dimensions of the insight table, their names in the URL, and the emails behind a group. */
import { StatsDimension, type StatsGroup } from "../../../src/gen/v1/stats_pb.ts";
import type { Behind } from "./links.ts";

export type Dimension = {
  /** In the URL: `?by=domain`. */
  id: string;
  name: string;
  /** Heading of the first column. */
  column: string;
  groupBy: StatsDimension;
  metadataKey: string;
};

const fixed: readonly Dimension[] = [
  { id: "site", name: "Receivers", column: "Site", groupBy: StatsDimension.SITE, metadataKey: "" },
  { id: "domain", name: "Domains", column: "Domain", groupBy: StatsDimension.DOMAIN, metadataKey: "" },
  { id: "key", name: "API keys", column: "Key", groupBy: StatsDimension.KEY, metadataKey: "" },
];

export function dimensionsOf(metadataKeys: readonly string[]): Dimension[] {
  const chosen = metadataKeys.map(
    (key): Dimension => ({
      id: `metadata:${key}`,
      name: key,
      column: key,
      groupBy: StatsDimension.METADATA,
      metadataKey: key,
    }),
  );
  return [...fixed, ...chosen];
}

/** A dimension of the URL that does not exist, such as a metadata key that is no longer counted, is the first one. */
export function dimensionOf(id: string | undefined, all: readonly Dimension[]): Dimension {
  return all.find((one) => one.id === id) ?? fixed[0]!;
}

export function groupName({ value, name, other }: StatsGroup, { groupBy }: Dimension): string {
  if (other) return "Other";
  if (groupBy === StatsDimension.KEY && value === "") return "No key";
  return name || value || "(empty)";
}

/** The filters that select the emails of a group. Undefined: the log has no such filter. */
export function groupFilter({ value, other }: StatsGroup, { groupBy, metadataKey }: Dimension): Behind | undefined {
  if (other || value === "") return undefined;
  if (groupBy === StatsDimension.DOMAIN) return { domain: value };
  if (groupBy === StatsDimension.KEY) return { sender: value };
  if (groupBy === StatsDimension.METADATA) return { key: metadataKey, value };
  if (groupBy === StatsDimension.SITE) return { site: value };
  return undefined;
}
