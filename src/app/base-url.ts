/** The address under which people reach this service: as the operator says, else where it listens. Never what a request says. */
import type { Config } from "./config.ts";

export function baseUrl(config: Pick<Config, "http" | "publicUrl">, port: number): string {
  const host = config.http.host.includes(":") ? `[${config.http.host}]` : config.http.host;
  return config.publicUrl ?? `http://${host}:${port}`;
}
