/** The form that registers a domain, in a dialog and as a step of the guide. */
import { useMutation } from "@connectrpc/connect-query";
import { Button, Collapse } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useState } from "react";
import { type Domain, DomainService } from "../../../src/gen/v1/domain_pb.ts";
import { invalidate } from "../api/query-client.ts";
import { Form, formErrors, TextField } from "../parts/form.tsx";

export function AddDomainForm({ onAdded, onCancel }: { onAdded(domain: Domain): void; onCancel?: () => void }) {
  const [domain, setDomain] = useState("");
  const [mailFromLabel, setLabel] = useState("");
  const [hasOptions, options] = useDisclosure(false);
  const registration = useMutation(DomainService.method.addDomain, {
    onSuccess({ domain }) {
      void invalidate(DomainService.method.listDomains);
      if (domain) onAdded(domain);
    },
  });
  const submit = () => {
    registration.mutate({ domain: domain.trim(), mailFromLabel: mailFromLabel.trim() });
  };
  const { fields, error } = formErrors(registration.error);
  return (
    <Form
      submitLabel="Add domain"
      isPending={registration.isPending}
      error={error}
      onSubmit={submit}
      onCancel={onCancel}
    >
      <TextField
        label="Domain"
        description="The part after the @ of your sender addresses. A subdomain such as news.example.com does not affect your other mail."
        placeholder="news.example.com"
        value={domain}
        onChange={setDomain}
        error={fields.domain}
        data-autofocus
        isRequired
      />
      <Button
        variant="subtle"
        size="compact-sm"
        ml={-8}
        onClick={options.toggle}
        aria-expanded={hasOptions}
        style={{ alignSelf: "flex-start" }}
      >
        {hasOptions ? "Fewer options" : "More options"}
      </Button>
      <Collapse expanded={hasOptions}>
        <TextField
          label="MAIL FROM subdomain"
          description="Bounces are sent to this subdomain. Change it if another service already uses it."
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
