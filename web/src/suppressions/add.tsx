/** Puts one address on the list by hand. */
import { useMutation } from "@connectrpc/connect-query";
import { Button, Group, Modal, Stack, TextInput } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { SuppressionService } from "../../../src/gen/v1/suppression_pb.ts";
import { changed } from "../api/changed.ts";
import { explain } from "../api/problem.ts";
import { ProblemAlert } from "../parts/problem-alert.tsx";

export function AddSuppression({ isOpen, onClose }: { isOpen: boolean; onClose(): void }) {
  return (
    <Modal opened={isOpen} onClose={onClose} title="Suppress an address">
      <Form onClose={onClose} />
    </Modal>
  );
}

function Form({ onClose }: { onClose(): void }) {
  const [address, setAddress] = useState("");
  const [note, setNote] = useState("");
  const adding = useMutation(SuppressionService.method.addSuppression, {
    onSuccess() {
      void changed(SuppressionService.method.listSuppressions);
      onClose();
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    adding.mutate({ address: address.trim(), note });
  };
  const fields = adding.error ? explain(adding.error).fields : {};
  return (
    <form onSubmit={submit}>
      <Stack>
        <TextInput
          label="Address"
          placeholder="somebody@example.com"
          value={address}
          onChange={(event) => setAddress(event.currentTarget.value)}
          error={fields.address}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          data-autofocus
          required
          withAsterisk={false}
        />
        <TextInput
          label="Note"
          description="Optional, such as why."
          value={note}
          onChange={(event) => setNote(event.currentTarget.value)}
          error={fields.note}
          maxLength={500}
        />
        {adding.error && Object.keys(fields).length === 0 && <ProblemAlert error={adding.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={adding.isPending}>
            Suppress address
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
