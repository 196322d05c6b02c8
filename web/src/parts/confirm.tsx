/** A dialog that explains an action and asks the person to confirm it. */
import { Button, Group, Modal, Stack } from "@mantine/core";
import type { ReactNode } from "react";
import { ProblemAlert } from "./states.tsx";

export function Confirm(props: {
  isOpen: boolean;
  title: string;
  children: ReactNode;
  /** Label of the button that confirms, such as "Delete domain". */
  confirmLabel: string;
  /** Default "Cancel". */
  cancelLabel?: string;
  isHarmless?: boolean;
  /** True: something is missing that the person must enter first. */
  isBlocked?: boolean;
  isPending: boolean;
  error: unknown;
  onConfirm(): void;
  onClose(): void;
}) {
  return (
    <Modal opened={props.isOpen} onClose={props.onClose} title={props.title}>
      <Stack className="wrap">
        {props.children}
        {Boolean(props.error) && <ProblemAlert error={props.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={props.onClose} data-autofocus>
            {props.cancelLabel ?? "Cancel"}
          </Button>
          <Button
            color={props.isHarmless ? undefined : "red"}
            loading={props.isPending}
            disabled={props.isBlocked}
            onClick={props.onConfirm}
          >
            {props.confirmLabel}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
