/** How mail for a destination is going, in the words of the dashboard. */
import { DestinationState } from "../../../src/gen/v1/queue_pb.ts";
import type { Word } from "../parts/mark.tsx";

const words: Partial<Record<DestinationState, Word>> = {
  [DestinationState.ACTIVE]: { word: "Active", color: "green", meaning: "Mail is going out." },
  [DestinationState.BACKING_OFF]: { word: "Backing off", color: "orange", meaning: "The receiver refuses for now." },
  [DestinationState.PAUSED]: { word: "Paused", color: "gray", meaning: "Held until it is resumed." },
};

export function stateWord(state: DestinationState): Word {
  return words[state] ?? { word: `State ${state}`, color: "gray" };
}
