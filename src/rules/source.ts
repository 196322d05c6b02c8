/** Which of several local addresses mail for a site leaves from: the same one every time, since receivers remember who came before
 * (greylisting, reputation), and each as often as its weight says. */
import { isIP } from "node:net";
import { hashOf } from "./site-pace.ts";

export type Source = { address: string; heloName: string | undefined; weight: number };

/** Rendezvous hashing: taking an address away moves only the sites that used it. One source for each family. */
export function sourceFor(sources: readonly Source[], site: string, family: number): Source | undefined {
  let best: { source: Source; score: number } | undefined;
  for (const source of sources) {
    if (isIP(source.address) !== family) continue;
    // Mixed once more: similar names must not give similar numbers.
    const unit = (hashOf(`${hashOf(`${site} ${source.address}`)} ${site}`) + 1) / 2 ** 32;
    const score = -source.weight / Math.log(Math.min(unit, 1 - 2 ** -33));
    if (!best || score > best.score) best = { source, score };
  }
  return best?.source;
}

/** `203.0.113.5=mx1.example.com*3, 2001:db8::5`: an address, the name said in HELO, and a weight (1). */
export function readSources(text: string): { ok: true; sources: Source[] } | { ok: false; reason: string } {
  const sources: Source[] = [];
  for (const entry of text.split(",").map((part) => part.trim())) {
    if (entry === "") continue;
    const match = /^([0-9a-f.:]+)(?:=([a-z0-9.-]+))?(?:\*(\d{1,4}))?$/i.exec(entry);
    const weight = Number(match?.[3] ?? 1);
    if (!match || isIP(match[1]!) === 0 || weight < 1)
      return {
        ok: false,
        reason: `${JSON.stringify(entry)} is no local address; write for example 203.0.113.5=mx1.example.com*3`,
      };
    sources.push({ address: match[1]!, heloName: match[2]?.toLowerCase(), weight });
  }
  return { ok: true, sources };
}
