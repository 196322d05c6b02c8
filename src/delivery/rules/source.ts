/** Chooses the local address for a site: always the same one, because greylisting and reputation depend on it, and each address in
 * proportion to its weight. Used by the direct transport and by the setting POSTHORN_SOURCE_IPS. */
import { isIP } from "node:net";
import { hashOf } from "./pace.ts";

export type Source = { address: string; heloName: string | undefined; weight: number };

/** Rendezvous hashing: removing an address moves only the sites that used it. Considers only sources of the given IP family. */
export function sourceFor(sources: readonly Source[], site: string, family: number): Source | undefined {
  let best: { source: Source; score: number } | undefined;
  for (const source of sources) {
    if (isIP(source.address) !== family) continue;
    // Hashed twice, because one pass of FNV-1a gives similar numbers for similar names.
    const unit = (hashOf(`${hashOf(`${site} ${source.address}`)} ${site}`) + 1) / 2 ** 32;
    const score = -source.weight / Math.log(Math.min(unit, 1 - 2 ** -33));
    if (!best || score > best.score) best = { source, score };
  }
  return best?.source;
}

/** Parses `203.0.113.5=mx1.example.com*3, 2001:db8::5`: an address, optionally the HELO name and a weight (default 1). */
export function readSources(text: string): { ok: true; sources: Source[] } | { ok: false; reason: string } {
  const sources: Source[] = [];
  for (const entry of text.split(",").map((part) => part.trim())) {
    if (entry === "") continue;
    const match = /^([0-9a-f.:]+)(?:=([a-z0-9.-]+))?(?:\*(\d{1,4}))?$/i.exec(entry);
    const weight = Number(match?.[3] ?? 1);
    if (!match || isIP(match[1]!) === 0 || weight < 1)
      return {
        ok: false,
        reason: `${JSON.stringify(entry)} is not a valid source; write for example 203.0.113.5=mx1.example.com*3`,
      };
    sources.push({ address: match[1]!, heloName: match[2]?.toLowerCase(), weight });
  }
  return { ok: true, sources };
}
