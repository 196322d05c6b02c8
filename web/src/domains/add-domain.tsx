/** Registers a domain and leads to its records. */
import { useMutation } from "@connectrpc/connect-query";
import { Button, Collapse, Group, Modal, Stack, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { type FormEvent, useState } from "react";
import { type Domain, DomainService } from "../../../src/gen/v1/domain_pb.ts";
import { changed } from "../api/changed.ts";
import { explain } from "../api/problem.ts";
import { ProblemAlert } from "../parts/problem-alert.tsx";

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
  const submit = (event: FormEvent) => {
    event.preventDefault();
    registration.mutate({ domain: domain.trim(), mailFromLabel: mailFromLabel.trim() });
  };
  const fields = registration.error ? explain(registration.error).fields : {};
  return (
    <form onSubmit={submit}>
      <Stack>
        <TextInput
          label="Domain"
          description="Senders use addresses of exactly this name. A sub-domain such as news.example.com leaves your other mail alone."
          placeholder="news.example.com"
          value={domain}
          onChange={(event) => setDomain(event.currentTarget.value)}
          error={fields.domain}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          data-autofocus
          required
          withAsterisk={false}
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
          <TextInput
            label="First label of the MAIL FROM name"
            description="Bounces come back to this name below your domain. Choose another where it is already in use."
            placeholder="bounce"
            value={mailFromLabel}
            onChange={(event) => setLabel(event.currentTarget.value)}
            error={fields.mailFromLabel}
            autoComplete="off"
            autoCapitalize="none"
            spellCheck={false}
          />
        </Collapse>
        {registration.error && Object.keys(fields).length === 0 && <ProblemAlert error={registration.error} />}
        <Group justify="flex-end">
          {onCancel && (
            <Button variant="default" onClick={onCancel}>
              Cancel
            </Button>
          )}
          <Button type="submit" loading={registration.isPending}>
            Add domain
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
