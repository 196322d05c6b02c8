/** Asks before something is done that cannot be taken back, and says what it does. */
import { Button, Group, Modal, Stack } from "@mantine/core";
import type { ReactNode } from "react";
import { ProblemAlert } from "./problem-alert.tsx";

export function Confirm(props: {
  isOpen: boolean;
  title: string;
  children: ReactNode;
  /** The words of the act, such as "Delete domain". */
  act: string;
  keep?: string;
  isHarmless?: boolean;
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
            {props.keep ?? "Cancel"}
          </Button>
          <Button color={props.isHarmless ? undefined : "red.9"} loading={props.isPending} onClick={props.onConfirm}>
            {props.act}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
