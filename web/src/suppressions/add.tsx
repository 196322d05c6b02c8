/** Puts one address on the list by hand. */
import { useMutation } from "@connectrpc/connect-query";
import { Modal } from "@mantine/core";
import { useState } from "react";
import { SuppressionService } from "../../../src/gen/v1/suppression_pb.ts";
import { changed } from "../api/changed.ts";
import { Form, refusals, TextField } from "../parts/form.tsx";

export function AddSuppression({ isOpen, onClose }: { isOpen: boolean; onClose(): void }) {
  return (
    <Modal opened={isOpen} onClose={onClose} title="Suppress an address">
      <Fields onClose={onClose} />
    </Modal>
  );
}

function Fields({ onClose }: { onClose(): void }) {
  const [address, setAddress] = useState("");
  const [note, setNote] = useState("");
  const adding = useMutation(SuppressionService.method.addSuppression, {
    onSuccess() {
      void changed(SuppressionService.method.listSuppressions);
      onClose();
    },
  });
  const submit = () => {
    adding.mutate({ address: address.trim(), note });
  };
  const { fields, error } = refusals(adding.error);
  return (
    <Form act="Suppress address" isPending={adding.isPending} error={error} onSubmit={submit} onCancel={onClose}>
      <TextField
        label="Address"
        placeholder="somebody@example.com"
        value={address}
        onChange={setAddress}
        error={fields.address}
        isCode
        data-autofocus
        isNeeded
      />
      <TextField
        label="Note"
        description="Optional, such as why."
        value={note}
        onChange={setNote}
        error={fields.note}
        maxLength={500}
      />
    </Form>
  );
}
