/** A state in one word, with its colour; the word alone tells it, the colour only helps. */
import { Badge } from "@mantine/core";

export interface Word {
  word: string;
  color: string;
  /** What it means, for whoever points at it. */
  meaning?: string;
}

export function Mark({ of: { word, color, meaning } }: { of: Word }) {
  return (
    <Badge variant="light" color={color} title={meaning} className="mark">
      {word}
    </Badge>
  );
}
