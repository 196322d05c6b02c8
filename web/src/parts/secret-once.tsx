/** A dialogue that makes something with a secret: a form, then the secret, shown this once and gone when the dialogue closes. */
import { Alert, Button, Modal, Stack } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { CopyField } from "./copy-field.tsx";

export function SecretOnce(props: {
  isOpen: boolean;
  onClose(): void;
  title: string;
  madeTitle: string;
  /** What the secret is, as the label above it. */
  label: string;
  form(onMade: (secret: string) => void, onCancel: () => void): ReactNode;
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
      title={secret === undefined ? props.title : props.madeTitle}
      // A secret that is shown once must not vanish by a click beside it.
      closeOnClickOutside={secret === undefined}
      closeOnEscape={secret === undefined}
      withCloseButton={secret === undefined}
    >
      {secret === undefined ? (
        props.form(setSecret, close)
      ) : (
        <Stack>
          <Alert color="yellow" role="alert">
            Copy it now and keep it safe. It cannot be shown again.
          </Alert>
          <CopyField label={props.label} value={secret} />
          <Button onClick={close}>I have copied it</Button>
        </Stack>
      )}
    </Modal>
  );
}
