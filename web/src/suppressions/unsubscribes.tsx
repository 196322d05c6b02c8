/** Recipients who have unsubscribed from a topic: a part of the page Suppressions, with a dialog to add an address and one to undo. */
import { useInfiniteQuery, useMutation } from "@connectrpc/connect-query";
import { Button, Group, Modal, Text } from "@mantine/core";
import { useState } from "react";
import { SuppressionService, type UnsubscribedAddress } from "../../../src/gen/v1/suppression_pb.ts";
import { invalidate } from "../api/query-client.ts";
import { Confirm } from "../parts/confirm.tsx";
import { Form, formErrors, TextField } from "../parts/form.tsx";
import { StatusBadge } from "../parts/icons.tsx";
import { Section } from "../parts/page.tsx";
import { PagedList } from "../parts/paged-list.tsx";
import { Empty } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { WriteOnly } from "../shell/write-only.tsx";
import { methodLabel, topicText } from "./labels.ts";

export function Unsubscribes({ search }: { search: string }) {
  const [isAdding, setAdding] = useState(false);
  const [undoing, setUndoing] = useState<UnsubscribedAddress>();
  const query = useInfiniteQuery(
    SuppressionService.method.listUnsubscribes,
    { search, pageToken: "", pageSize: 50 },
    { pageParamKey: "pageToken", getNextPageParam: (page) => page.nextPageToken || undefined },
  );
  return (
    <Section
      title="Unsubscribed from a topic"
      actions={
        <WriteOnly>
          <Button variant="default" onClick={() => setAdding(true)}>
            Unsubscribe address
          </Button>
        </WriteOnly>
      }
    >
      <Text c="dimmed">
        These recipients do not get emails with the topic. Emails without a topic are not affected.
      </Text>
      <PagedList
        query={query}
        what="the recipients who have unsubscribed"
        label="Recipients who have unsubscribed, newest first"
        keyOf={({ address, topic }) => `${address} ${topic}`}
        row={(one) => <Row subject={one} onUndo={() => setUndoing(one)} />}
        framed
        onRequest
        empty={
          <Empty>
            {search === ""
              ? "No recipient has unsubscribed yet. Send an email with the field unsubscribe, and its recipient can leave the topic with one click."
              : "No recipient who has unsubscribed matches."}
          </Empty>
        }
      />
      <Modal opened={isAdding} onClose={() => setAdding(false)} title="Unsubscribe address">
        <Fields onClose={() => setAdding(false)} />
      </Modal>
      <Undo subject={undoing} onClose={() => setUndoing(undefined)} />
    </Section>
  );
}

function Row({ subject, onUndo }: { subject: UnsubscribedAddress; onUndo(): void }) {
  const { address, topic, method, createdAt } = subject;
  return (
    <div className="row">
      <StatusBadge of={methodLabel(method)} />
      <div className="middle">
        <Text fw={560} className="wrap">
          {address}
        </Text>
        <Text size="sm" c="dimmed" className="wrap">
          {topic === "*" ? "All topics" : `Topic ${topic}`}
        </Text>
      </div>
      <Group className="aside" gap="sm" justify="flex-end">
        {createdAt && <Time at={createdAt} />}
        <WriteOnly>
          <Button
            variant="default"
            size="compact-sm"
            onClick={onUndo}
            aria-label={`Undo for ${address} and ${topicText(topic)}`}
          >
            Undo
          </Button>
        </WriteOnly>
      </Group>
    </div>
  );
}

function Fields({ onClose }: { onClose(): void }) {
  const [address, setAddress] = useState("");
  const [topic, setTopic] = useState("");
  const adding = useMutation(SuppressionService.method.addUnsubscribe, {
    onSuccess() {
      void invalidate(SuppressionService.method.listUnsubscribes);
      onClose();
    },
  });
  const { fields, error } = formErrors(adding.error);
  return (
    <Form
      submitLabel="Unsubscribe address"
      isPending={adding.isPending}
      error={error}
      onSubmit={() => adding.mutate({ address: address.trim(), topic: topic.trim() })}
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
        label="Topic"
        description="As in the field unsubscribe of your emails. * stands for all topics."
        placeholder="newsletter"
        value={topic}
        onChange={setTopic}
        error={fields.topic}
        isCode
        isRequired
      />
    </Form>
  );
}

function Undo({ subject, onClose }: { subject: UnsubscribedAddress | undefined; onClose(): void }) {
  const removal = useMutation(SuppressionService.method.removeUnsubscribe, {
    onSuccess() {
      onClose();
      void invalidate(SuppressionService.method.listUnsubscribes);
    },
  });
  return (
    <Confirm
      isOpen={subject !== undefined}
      title="Undo this unsubscription?"
      confirmLabel="Subscribe address"
      cancelLabel="Keep unsubscribed"
      isPending={removal.isPending}
      error={removal.error}
      onConfirm={() => subject && removal.mutate({ address: subject.address, topic: subject.topic })}
      onClose={() => {
        removal.reset();
        onClose();
      }}
    >
      <Text>
        Posthorn will send emails with {topicText(subject?.topic ?? "")} to <strong>{subject?.address}</strong> again.
        Do this only if the person asked for it: mail after an unsubscription is reported as spam, and is illegal in
        many countries.
      </Text>
    </Confirm>
  );
}
