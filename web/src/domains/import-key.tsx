/** The button and dialog that import a DKIM key: a selector and the private key, which leaves the page when the dialog closes. */
import { useMutation } from "@connectrpc/connect-query";
import { Button, Modal, Text, Textarea } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useState } from "react";
import { type Domain, DomainService } from "../../../src/gen/v1/domain_pb.ts";
import { invalidate } from "../api/query-client.ts";
import { Form, formErrors, TextField } from "../parts/form.tsx";

const { getDkimKeys, importDkimKey } = DomainService.method;

export function ImportKey({ domain }: { domain: Domain }) {
  const [isOpen, dialog] = useDisclosure(false);
  return (
    <>
      <Button variant="default" onClick={dialog.open}>
        Import key
      </Button>
      <Modal opened={isOpen} onClose={dialog.close} title="Import a DKIM key" size="lg">
        {isOpen && <ImportForm domain={domain} onClose={dialog.close} />}
      </Modal>
    </>
  );
}

function ImportForm({ domain, onClose }: { domain: Domain; onClose(): void }) {
  const [selector, setSelector] = useState("");
  const [privateKeyPem, setPem] = useState("");
  const importing = useMutation(importDkimKey, {
    // The request contains the private key, so it must not stay in the mutation cache.
    gcTime: 0,
    onSuccess() {
      void invalidate(getDkimKeys);
      onClose();
    },
  });
  const { fields, error } = formErrors(importing.error);
  return (
    <Form
      submitLabel="Import key"
      isPending={importing.isPending}
      error={error}
      onSubmit={() => importing.mutate({ id: domain.id, selector, privateKeyPem })}
      onCancel={onClose}
    >
      <Text size="sm">
        Use a key that you already have, for example from another service. It signs once its record is in DNS. The other
        records of {domain.domain} are still needed.
      </Text>
      <TextField
        label="Selector"
        description={`The part before ._domainkey.${domain.domain}, for example s1`}
        value={selector}
        onChange={setSelector}
        error={fields.selector}
        isRequired
        isCode
        data-autofocus
      />
      <Textarea
        label="Private key"
        description="RSA in PEM, 1024 to 4096 bits, without a passphrase. It is stored encrypted. Only an owner can export it."
        placeholder="-----BEGIN PRIVATE KEY-----"
        value={privateKeyPem}
        onChange={(event) => setPem(event.currentTarget.value)}
        error={fields.privateKeyPem}
        rows={6}
        required
        withAsterisk={false}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        classNames={{ input: "mono" }}
      />
    </Form>
  );
}
