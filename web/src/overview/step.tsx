/** One step of the guide: a done step shows its result, the current step its content, a later step only its title. */
import { Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { CheckIcon } from "../parts/icons.tsx";

export function Step(props: {
  number: number;
  title: string;
  state: "done" | "now" | "later";
  /** The result, shown when the step is done. */
  note?: string;
  children: ReactNode;
}) {
  const { number, title, state, note, children } = props;
  return (
    <li className="step" data-state={state} aria-current={state === "now" ? "step" : undefined}>
      <span className="step-number" aria-hidden="true">
        {state === "done" ? <CheckIcon /> : number}
      </span>
      <Stack gap="sm" miw={0}>
        <div>
          <Text fw={state === "now" ? 650 : 500} c={state === "later" ? "dimmed" : undefined}>
            {title}
            {state === "done" && <span className="hidden"> (done)</span>}
          </Text>
          {state === "done" && note && (
            <Text size="sm" c="dimmed" className="wrap">
              {note}
            </Text>
          )}
        </div>
        {state === "now" && <div className="wrap">{children}</div>}
      </Stack>
    </li>
  );
}
