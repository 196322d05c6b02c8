/** The check of posthorn doctor on the object storage for large content. */
import { describeAddress } from "../../../objects/address.ts";
import { meanings } from "../../../objects/rules/mark.ts";
import { hasObjects } from "../../../objects/store/objects.ts";
import { storeOutages } from "../../../objects/store-error.ts";
import type { Config } from "../../config.ts";
import { withStore } from "../with-store.ts";
import type { Finding } from "./finding.ts";

const check = "objects";

export async function objectStorageChecks(config: Config): Promise<Finding[]> {
  return await withStore(config, async ({ sql, contents }) => {
    if (!contents || !config.content) {
      if (!(await hasObjects(sql))) return [];
      const { problem, fix } = storeOutages.notConfigured;
      return [{ check, result: "fail", found: problem, fix }];
    }
    const address = describeAddress(config.content.address);
    const problem = await contents.check();
    const standing = contents.standing.last()?.standing;
    if (problem && problem.kind !== "wrongMark")
      return [
        {
          check,
          result: "fail",
          found: `${address}: ${storeOutages[problem.kind].state}`,
          fix: storeOutages[problem.kind].fix,
        },
      ];
    if (problem)
      return [{ check, result: "fail", found: `${address}: wrong mark`, fix: meanings[standing ?? "missing"] }];
    if (standing === "copy")
      return [{ check, result: "warn", found: `${address}: no object is deleted`, fix: meanings.copy }];
    return [{ check, result: "ok", found: `${address} serves` }];
  });
}
