/** An inbound message: sender, results of the sender checks, text, and attachments. */
import { createClient } from "@connectrpc/connect";
import { Badge, Button, Group, Stack, Tabs, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import type { InboundAttachment } from "../../../src/gen/v1/event_pb.ts";
import { type InboundMessage, InboundService } from "../../../src/gen/v1/inbound_pb.ts";
import { transport } from "../api/transport.ts";
import { formatSize } from "../emails/attachments.tsx";
import { Copyable } from "../parts/copy-button.tsx";
import { download } from "../parts/download.ts";
import { HtmlPreview } from "../parts/html-preview.tsx";
import { Fact, Facts, Section, TextBlock } from "../parts/page.tsx";
import { ProblemAlert } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { VerdictBadges } from "./verdicts.tsx";

const client = createClient(InboundService, transport);

export function InboundView(props: { inbound: InboundMessage; body: string; newText: string; html: string }) {
  const { inbound } = props;
  const raw = useMutation({
    mutationFn: async () => {
      const { raw } = await client.getInboundContent({ id: inbound.id }, { timeoutMs: 60_000 });
      download(`${inbound.id}.eml`, raw as Uint8Array<ArrayBuffer>, "message/rfc822");
    },
  });
  return (
    <Stack gap="lg" miw={0}>
      <Section
        title="Message"
        badge={inbound.autoSubmitted && <Badge variant="default">Automatic</Badge>}
        actions={
          <Button variant="default" size="xs" loading={raw.isPending} onClick={() => raw.mutate()}>
            Download raw message
          </Button>
        }
      >
        {raw.error && <ProblemAlert error={raw.error} />}
        <VerdictBadges verdicts={inbound.verdicts} />
        <Facts>
          <Fact name="From">{inbound.from}</Fact>
          {inbound.replyTo !== "" && <Fact name="Reply-To">{inbound.replyTo}</Fact>}
          <Fact name="To">{inbound.to.join(", ")}</Fact>
          <Fact name="Received">{inbound.receivedAt && <Time at={inbound.receivedAt} long />}</Fact>
          <Fact name="Size">{formatSize(inbound.sizeBytes)}</Fact>
          <Fact name="Inbound id">
            <Copyable value={inbound.id} name="the inbound id" />
          </Fact>
          <Fact name="Message-ID">
            {inbound.messageId !== "" && <Copyable value={inbound.messageId} name="the Message-ID" />}
          </Fact>
        </Facts>
        <Texts {...props} />
        {inbound.attachments.length > 0 && <Files id={inbound.id} attachments={inbound.attachments} />}
      </Section>
    </Stack>
  );
}

function Texts({ body, newText, html }: { body: string; newText: string; html: string }) {
  const first = newText !== "" ? "new" : body !== "" ? "text" : "html";
  if (body === "" && html === "") return <Text c="dimmed">The message has no text.</Text>;
  return (
    <Tabs defaultValue={first} keepMounted={false}>
      <Tabs.List>
        {newText !== "" && <Tabs.Tab value="new">New text</Tabs.Tab>}
        {body !== "" && <Tabs.Tab value="text">Full text</Tabs.Tab>}
        {html !== "" && <Tabs.Tab value="html">HTML</Tabs.Tab>}
      </Tabs.List>
      <Stack pt="md">
        <Tabs.Panel value="new">
          <TextBlock text={newText} label="New text" />
        </Tabs.Panel>
        <Tabs.Panel value="text">
          <TextBlock text={body} label="Full text" />
        </Tabs.Panel>
        <Tabs.Panel value="html">
          <HtmlPreview html={html} title="The message as HTML" />
        </Tabs.Panel>
      </Stack>
    </Tabs>
  );
}

function Files({ id, attachments }: { id: string; attachments: InboundAttachment[] }) {
  const fetching = useMutation({
    mutationFn: async ({ id: attachmentId, filename }: InboundAttachment) => {
      const { content } = await client.getInboundAttachment({ id, attachmentId }, { timeoutMs: 60_000 });
      // A generic type instead of the sender's, so that the browser saves the file and never opens it as a page.
      download(filename || "attachment", content as Uint8Array<ArrayBuffer>, "application/octet-stream");
    },
  });
  return (
    <Stack gap="xs">
      <Text fw={600}>Attachments</Text>
      {fetching.error && <ProblemAlert error={fetching.error} />}
      <Stack component="ul" gap={0} className="list framed" aria-label="Attachments">
        {attachments.map((attachment) => (
          <Group component="li" key={attachment.id} justify="space-between" p="sm">
            <div className="wrap">
              <Text className="wrap">{attachment.filename || "(no name)"}</Text>
              <Text size="sm" c="dimmed" className="wrap">
                {attachment.contentType} · {formatSize(attachment.sizeBytes)}
              </Text>
            </div>
            <Button
              size="xs"
              variant="default"
              loading={fetching.isPending && fetching.variables?.id === attachment.id}
              aria-label={`Download ${attachment.filename || "the attachment"}`}
              onClick={() => fetching.mutate(attachment)}
            >
              Download
            </Button>
          </Group>
        ))}
      </Stack>
    </Stack>
  );
}
