/** posthorn.stats: counts and rates of the workspace's mail, and when an alert about them is raised. */
import type { Call } from "./call.ts";
import { checkArray, checkObject } from "./check.ts";
import type { GetStatsRequest, GetStatsResponse, StatsSettings, UpdateStatsSettingsRequest } from "./gen/stats.ts";
import type { CallOptions } from "./settings.ts";

/** What to change. Fields that are not set stay. */
export interface UpdateStatsSettings extends Omit<UpdateStatsSettingsRequest, "metadataKeys"> {
  /** The metadata keys by which mail is counted, at most three. An empty list: none. */
  metadataKeys?: readonly string[];
}

export class Stats {
  readonly #call: Call;

  constructor(call: Call) {
    this.#call = call;
  }

  /** Returns the counts and rates of a time range, the last 24 hours by default. */
  async get(request: GetStatsRequest = {}, options?: CallOptions): Promise<GetStatsResponse> {
    checkObject(request, "request");
    return await this.#call("StatsService/GetStats", request, options);
  }

  /** Returns the metadata keys that are counted, and when an alert is raised. */
  async settings(options?: CallOptions): Promise<StatsSettings> {
    return (await this.#call("StatsService/GetStatsSettings", {}, options)).settings;
  }

  /** Changes the given settings and leaves the others unchanged. */
  async updateSettings(change: UpdateStatsSettings, options?: CallOptions): Promise<StatsSettings> {
    checkObject(change, "change");
    const { metadataKeys, ...rest } = change;
    if (metadataKeys !== undefined) checkArray(metadataKeys, "metadataKeys");
    const request = metadataKeys === undefined ? rest : { ...rest, metadataKeys: { keys: [...metadataKeys] } };
    return (await this.#call("StatsService/UpdateStatsSettings", request, options)).settings;
  }
}
