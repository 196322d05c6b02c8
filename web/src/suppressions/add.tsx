/** The dialog that adds one address to the suppression list. */
import { useMutation } from "@connectrpc/connect-query";
import { Modal } from "@mantine/core";
import { useState } from "react";
import { SuppressionService } from "../../../src/gen/v1/suppression_pb.ts";
import { invalidate } from "../api/query-client.ts";
import { Form, formErrors, TextField } from "../parts/form.tsx";

export function AddSuppression({ isOpen, onClose }: { isOpen: boolean; onClose(): void }) {
  return (
    <Modal opened={isOpen} onClose={onClose} title="Suppress address">
      <Fields onClose={onClose} />
    </Modal>
  );
}

function Fields({ onClose }: { onClose(): void }) {
  const [address, setAddress] = useState("");
  const [note, setNote] = useState("");
  const adding = useMutation(SuppressionService.method.addSuppression, {
    onSuccess() {
      void invalidate(SuppressionService.method.listSuppressions);
      onClose();
    },
  });
  const submit = () => {
    adding.mutate({ address: address.trim(), note });
  };
  const { fields, error } = formErrors(adding.error);
  return (
    <Form
      submitLabel="Suppress address"
      isPending={adding.isPending}
      error={error}
      onSubmit={submit}
      onCancel={onClose}
    >
      <TextField
        label="Address"
        placeholder="user@example.com"
        value={address}
        onChange={setAddress}
        error={fields.address}
        isCode
        data-autofocus
        isRequired
      />
      <TextField
        label="Note"
        description="Optional. For example, the reason."
        value={note}
        onChange={setNote}
        error={fields.note}
        maxLength={500}
      />
    </Form>
  );
}
