/** The content of an email: HTML in a sandboxed frame, text, headers, attachments, and a download of the raw message. */
import { useQuery as useCall } from "@connectrpc/connect-query";
import { Button, Stack, Tabs, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { type Email, EmailService } from "../../../src/gen/v1/email_pb.ts";
import { useMayWrite } from "../api/session.ts";
import { download } from "../parts/download.ts";
import { HtmlPreview } from "../parts/html-preview.tsx";
import { Section, TextBlock } from "../parts/page.tsx";
import { Loading, ProblemAlert } from "../parts/states.tsx";
import { Attachments } from "./attachments.tsx";
import { attachmentsOf, headerOf, inlineImages } from "./parse-raw.ts";

export function EmailContent({ email }: { email: Email }) {
  const mayRead = useMayWrite();
  const query = useCall(
    EmailService.method.getEmailContent,
    { id: email.id },
    { enabled: mayRead && email.hasContent, staleTime: Infinity },
  );
  if (!mayRead || !email.hasContent)
    return (
      <Section title="Content">
        <Text>
          {mayRead
            ? "The content was deleted at the end of its retention period. The events of the email are still available."
            : "Viewers cannot see message content. Owners and developers can."}
        </Text>
      </Section>
    );
  const content = query.data;
  if (!content)
    return (
      <Section title="Content">
        {query.isPending ? (
          <Loading what="the content" rows={1} height={320} />
        ) : (
          <ProblemAlert error={query.error} onRetry={() => void query.refetch()} />
        )}
      </Section>
    );
  return (
    <Section
      title="Content"
      actions={
        <Button
          variant="default"
          size="xs"
          onClick={() => download(`${email.id}.eml`, content.raw as Uint8Array<ArrayBuffer>, "message/rfc822")}
        >
          Download raw message
        </Button>
      }
    >
      <Parts email={email} raw={content.raw} html={content.html} body={content.body} />
    </Section>
  );
}

function Parts({ email, raw, html, body }: { email: Email; raw: Uint8Array; html: string; body: string }) {
  const header = useMemo(() => headerOf(raw), [raw]);
  const files = useQuery({
    queryKey: ["attachments", email.id],
    queryFn: () => attachmentsOf(raw),
    enabled: email.attachments.length > 0,
    staleTime: Infinity,
  });
  const inline = useMemo(() => inlineImages(files.data ?? []), [files.data]);
  return (
    <Tabs defaultValue={html ? "html" : "text"} keepMounted={false}>
      <Tabs.List>
        {html !== "" && <Tabs.Tab value="html">HTML</Tabs.Tab>}
        <Tabs.Tab value="text">Text</Tabs.Tab>
        <Tabs.Tab value="headers">Headers</Tabs.Tab>
        {email.attachments.length > 0 && (
          <Tabs.Tab value="attachments">Attachments ({email.attachments.length})</Tabs.Tab>
        )}
      </Tabs.List>
      <Stack pt="md">
        {html !== "" && (
          <Tabs.Panel value="html">
            <div className="letter">
              <HtmlPreview html={html} inline={inline} title="The email as HTML" />
            </div>
          </Tabs.Panel>
        )}
        <Tabs.Panel value="text">
          {body === "" ? (
            <Text c="dimmed">This email has no plain text. Adding it improves deliverability.</Text>
          ) : (
            <TextBlock text={body} label="The email as plain text" />
          )}
        </Tabs.Panel>
        <Tabs.Panel value="headers">
          <TextBlock text={header} label="Headers" />
        </Tabs.Panel>
        <Tabs.Panel value="attachments">
          <Attachments listed={email.attachments} files={files.data} error={files.error} />
        </Tabs.Panel>
      </Stack>
    </Tabs>
  );
}
