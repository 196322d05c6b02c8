/** The URL of this service in links: POSTHORN_PUBLIC_URL, or the HTTP listener. Never taken from a request, which could forge it. */
import type { Config } from "./config.ts";

export function baseUrl(config: Pick<Config, "http" | "publicUrl">, port: number): string {
  const host = config.http.host.includes(":") ? `[${config.http.host}]` : config.http.host;
  return config.publicUrl ?? `http://${host}:${port}`;
}
