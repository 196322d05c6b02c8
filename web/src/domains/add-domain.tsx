/** Registers a domain and leads to its records. */
import { useMutation } from "@connectrpc/connect-query";
import { Button, Collapse, Modal } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useState } from "react";
import { type Domain, DomainService } from "../../../src/gen/v1/domain_pb.ts";
import { changed } from "../api/changed.ts";
import { Form, refusals, TextField } from "../parts/form.tsx";

export function AddDomain(props: { isOpen: boolean; onClose(): void; onAdded(domain: Domain): void }) {
  return (
    <Modal opened={props.isOpen} onClose={props.onClose} title="Add a domain">
      <AddDomainForm onAdded={props.onAdded} onCancel={props.onClose} />
    </Modal>
  );
}

export function AddDomainForm({ onAdded, onCancel }: { onAdded(domain: Domain): void; onCancel?: () => void }) {
  const [domain, setDomain] = useState("");
  const [mailFromLabel, setLabel] = useState("");
  const [hasMore, more] = useDisclosure(false);
  const registration = useMutation(DomainService.method.addDomain, {
    onSuccess({ domain }) {
      void changed(DomainService.method.listDomains);
      if (domain) onAdded(domain);
    },
  });
  const submit = () => {
    registration.mutate({ domain: domain.trim(), mailFromLabel: mailFromLabel.trim() });
  };
  const { fields, error } = refusals(registration.error);
  return (
    <Form act="Add domain" isPending={registration.isPending} error={error} onSubmit={submit} onCancel={onCancel}>
      <TextField
        label="Domain"
        description="Senders use addresses of exactly this name. A sub-domain such as news.example.com leaves your other mail alone."
        placeholder="news.example.com"
        value={domain}
        onChange={setDomain}
        error={fields.domain}
        isCode
        data-autofocus
        isNeeded
      />
      <Button
        variant="subtle"
        size="compact-sm"
        onClick={more.toggle}
        aria-expanded={hasMore}
        style={{ alignSelf: "flex-start" }}
      >
        {hasMore ? "Fewer options" : "More options"}
      </Button>
      <Collapse expanded={hasMore}>
        <TextField
          label="First label of the MAIL FROM name"
          description="Bounces come back to this name below your domain. Choose another where it is already in use."
          placeholder="bounce"
          value={mailFromLabel}
          onChange={setLabel}
          error={fields.mailFromLabel}
          isCode
        />
      </Collapse>
    </Form>
  );
}
