/** Sends one email by hand: to see that all is in place, and to watch what happens to it. */
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { NativeSelect, Text, Textarea } from "@mantine/core";
import { useState } from "react";
import { DomainService } from "../../../src/gen/v1/domain_pb.ts";
import { EmailService } from "../../../src/gen/v1/email_pb.ts";
import { changed } from "../api/changed.ts";
import { explain } from "../api/problem.ts";
import { Form, TextField } from "../parts/form.tsx";
import { AnchorLink } from "../parts/links.tsx";
import { ProblemAlert } from "../parts/problem-alert.tsx";
import { Loading } from "../parts/states.tsx";

export function SendForm({ onSent }: { onSent(id: string): void }) {
  const domains = useQuery(DomainService.method.listDomains, { page: 1, pageSize: 100 });
  if (domains.isPending) return <Loading what="the domains" rows={3} />;
  if (!domains.data) return <ProblemAlert error={domains.error} onRetry={() => void domains.refetch()} />;
  const names = domains.data.data.filter(({ summary }) => summary?.canSend).map(({ domain }) => domain);
  if (names.length === 0)
    return (
      <Text>
        No domain can send yet. Add one and publish its records on the page{" "}
        <AnchorLink to="/domains">Domains</AnchorLink>.
      </Text>
    );
  return <Fields names={names} onSent={onSent} />;
}

function Fields({ names, onSent }: { names: string[]; onSent(id: string): void }) {
  const [name, setName] = useState("hello");
  const [domain, setDomain] = useState(names[0]!);
  const [to, setTo] = useState("");
  const [subject, setSubject] = useState("A test from Posthorn");
  const [body, setBody] = useState("It works.");
  const sending = useMutation(EmailService.method.sendEmail, {
    onSuccess({ id }) {
      void changed(EmailService.method.listEmails);
      onSent(id);
    },
  });
  const submit = () => {
    const recipients = to.split(/[,;\n]/).map((one) => one.trim());
    sending.mutate({
      ...{ from: `${name.trim()}@${domain}`, to: recipients.filter((one) => one !== ""), subject, body },
      // The page shows what happens from here on; it need not wait for the first attempt.
      async: true,
    });
  };
  const problem = sending.error ? explain(sending.error) : undefined;
  const field = (of: string) =>
    Object.entries(problem?.fields ?? {}).find(([path]) => path === of || path.startsWith(`${of}[`))?.[1];
  const error = ["from", "to", "subject", "body"].some(field) ? undefined : sending.error;
  return (
    <Form act="Send email" isPending={sending.isPending} error={error} onSubmit={submit} isWide>
      <TextField label="From" value={name} onChange={setName} error={field("from")} isCode isNeeded />
      <NativeSelect
        label="Domain"
        description="Only domains that can send are offered."
        data={names.map((value) => ({ value, label: `@${value}` }))}
        value={domain}
        onChange={(event) => setDomain(event.currentTarget.value)}
      />
      <TextField
        label="To"
        description="One address, or several with commas. In capture mode the mailbox name decides what happens: delivered@, bounced@, delayed@, complained@ and replied@ of any domain."
        placeholder="delivered@there.test"
        value={to}
        onChange={setTo}
        error={field("to")}
        isCode
        isNeeded
      />
      <TextField label="Subject" value={subject} onChange={setSubject} error={field("subject")} />
      <Textarea
        label="Text"
        value={body}
        onChange={(event) => setBody(event.currentTarget.value)}
        error={field("body")}
        rows={4}
      />
    </Form>
  );
}
