/** A dialog for deletions that cannot be undone: the person types the name of what is deleted. */
import { Stack, Text } from "@mantine/core";
import { type ReactNode, useEffect, useState } from "react";
import { Confirm } from "../parts/confirm.tsx";
import { Copyable } from "../parts/copy-button.tsx";
import { TextField } from "../parts/form.tsx";

export function TypedConfirm(props: {
  isOpen: boolean;
  title: string;
  /** The label of the field, such as "Name of the workspace". */
  label: string;
  /** What the person must type. */
  expected: string;
  confirmLabel: string;
  cancelLabel: string;
  isPending: boolean;
  error: unknown;
  /** A command of the server that saves the data before. */
  exportCommand: string;
  onConfirm(): void;
  onClose(): void;
  children: ReactNode;
}) {
  const { label, expected, exportCommand, children, ...rest } = props;
  const [typed, setTyped] = useState("");
  useEffect(() => {
    if (!props.isOpen) setTyped("");
  }, [props.isOpen]);
  return (
    <Confirm {...rest} isBlocked={typed.trim() !== expected.trim()}>
      {children}
      <Stack gap={4}>
        <Text size="sm">To keep a copy, run this on the server first:</Text>
        <Copyable value={exportCommand} name="the command" />
      </Stack>
      <TextField label={label} description={`Type ${expected} to confirm.`} value={typed} onChange={setTyped} isCode />
    </Confirm>
  );
}
