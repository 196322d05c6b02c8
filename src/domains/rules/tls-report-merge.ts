/** Adds the addresses of this service to a TLS reporting record of the domain (RFC 8460 §3). Called by judge.ts. */

/** The record with the addresses of both; undefined if it has one of ours already. A record without rua= gets ours. */
export function tlsReportMerge(text: string, ours: string): string | undefined {
  const wanted = urisOf(ours);
  const present = urisOf(text).map((uri) => uri.toLowerCase());
  if (wanted.some((uri) => present.includes(uri.toLowerCase()))) return undefined;
  const added = wanted.join(",");
  const rua = /;\s*rua\s*=\s*([^;]*?)\s*(?=;|$)/i.exec(text);
  if (!rua) return `v=TLSRPTv1; rua=${added}`;
  const end = rua.index + rua[0].length;
  return `${text.slice(0, end)}${rua[1] === "" ? "" : ","}${added}${text.slice(end)}`;
}

function urisOf(text: string): string[] {
  const list = /;\s*rua\s*=\s*([^;]*)/i.exec(text)?.[1] ?? "";
  return list.split(",").map((uri) => uri.trim());
}
