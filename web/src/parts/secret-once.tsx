/** A dialog that creates something with a secret: first a form, then the secret. Closing it removes the secret from the page. */
import { Alert, Button, Modal, Stack } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { CopyField } from "./copy-field.tsx";

export function SecretOnce(props: {
  isOpen: boolean;
  onClose(): void;
  title: string;
  createdTitle: string;
  /** Label of the field with the secret. */
  label: string;
  form(onCreated: (secret: string) => void, onCancel: () => void): ReactNode;
}) {
  const [secret, setSecret] = useState<string>();
  const close = () => {
    setSecret(undefined);
    props.onClose();
  };
  return (
    <Modal
      opened={props.isOpen}
      onClose={close}
      title={secret === undefined ? props.title : props.createdTitle}
      // A click outside or the Escape key must not close the dialog while it shows the secret.
      closeOnClickOutside={secret === undefined}
      closeOnEscape={secret === undefined}
      withCloseButton={secret === undefined}
    >
      {secret === undefined ? (
        props.form(setSecret, close)
      ) : (
        <Stack>
          <Alert color="yellow" role="alert">
            Copy it now and store it safely. It is not shown again.
          </Alert>
          <CopyField label={props.label} value={secret} />
          <Button onClick={close}>I have copied it</Button>
        </Stack>
      )}
    </Modal>
  );
}
