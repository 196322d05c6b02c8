/** The pace where nothing leaves the machine: every destination is its own site, with the same room. */
import type { LoopDeps } from "./loop.ts";

const perDestination = 40;

export function createEvenPace(): LoopDeps["pace"] {
  const inHand = new Map<string, number>();
  return {
    siteOf: (destination) => destination,
    room: (site) => perDestination - (inHand.get(site) ?? 0),
    roomAtMs: () => undefined,
    unproven: () => false,
    took: (site, recipients) => void inHand.set(site, (inHand.get(site) ?? 0) + recipients),
    gave(site, recipients) {
      const left = (inHand.get(site) ?? 0) - recipients;
      if (left > 0) inHand.set(site, left);
      else inHand.delete(site);
    },
    sync: async () => {},
    onChange: () => {},
  };
}
