/** The form that sends a test email, as a page and as a step of the guide. */
import { useQuery } from "@connectrpc/connect-query";
import { Card, NativeSelect, Text, Textarea } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import { DomainService } from "../../../src/gen/v1/domain_pb.ts";
import { explain } from "../api/problem.ts";
import { Form, TextField } from "../parts/form.tsx";
import { AnchorLink } from "../parts/links.tsx";
import { Back, Page } from "../parts/page.tsx";
import { Loading, ProblemAlert } from "../parts/states.tsx";
import { useSendEmail } from "./use-send-email.ts";

const CheckSample = lazy(() =>
  import("../deliverability/check-sample.tsx").then((check) => ({ default: check.CheckSample })),
);

/** `withCheck`: offers to check the email before it is sent. */
export function SendForm({ onSent, withCheck = false }: { onSent(id: string): void; withCheck?: boolean }) {
  const domains = useQuery(DomainService.method.listDomains, { page: 1, pageSize: 100 });
  if (domains.isPending) return <Loading what="the domains" rows={3} />;
  if (!domains.data) return <ProblemAlert error={domains.error} onRetry={() => void domains.refetch()} />;
  const names = domains.data.data.filter(({ summary }) => summary?.canSend).map(({ domain }) => domain);
  if (names.length === 0)
    return (
      <Text>
        No domain can send yet. Add a domain and publish its records on the{" "}
        <AnchorLink to="/domains">Domains</AnchorLink> page.
      </Text>
    );
  return <Fields names={names} onSent={onSent} withCheck={withCheck} />;
}

function Fields({ names, onSent, withCheck }: { names: string[]; onSent(id: string): void; withCheck: boolean }) {
  const [name, setName] = useState("hello");
  const [domain, setDomain] = useState(names[0]!);
  const [to, setTo] = useState("");
  const [subject, setSubject] = useState("A test from Posthorn");
  const [body, setBody] = useState("It works.");
  const sending = useSendEmail(onSent);
  const request = () => {
    const recipients = to.split(/[,;\n]/).map((one) => one.trim());
    return { from: `${name.trim()}@${domain}`, to: recipients.filter((one) => one !== ""), subject, body };
  };
  const problem = sending.error ? explain(sending.error) : undefined;
  const field = (of: string) =>
    Object.entries(problem?.fields ?? {}).find(([path]) => path === of || path.startsWith(`${of}[`))?.[1];
  const error = ["from", "to", "subject", "body"].some(field) ? undefined : sending.error;
  const form = (
    <Form
      submitLabel="Send email"
      isPending={sending.isPending}
      error={error}
      onSubmit={() => sending.mutate(request())}
      isWide
    >
      <div className="sender">
        <TextField label="From" value={name} onChange={setName} error={field("from")} isCode isRequired />
        <NativeSelect
          label="Domain"
          data={names.map((value) => ({ value, label: `@${value}` }))}
          value={domain}
          onChange={(event) => setDomain(event.currentTarget.value)}
        />
      </div>
      <TextField
        label="To"
        description="One address, or several separated by commas. In capture mode, the part before the @ sets the outcome: delivered, bounced, delayed, complained or replied."
        placeholder="delivered@there.test"
        value={to}
        onChange={setTo}
        error={field("to")}
        isCode
        isRequired
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
  if (!withCheck) return form;
  return (
    <>
      {form}
      <Suspense fallback={null}>
        <CheckSample domain={domain} email={request} />
      </Suspense>
    </>
  );
}

/** The page with the form. After sending, it opens the page of the email. */
export function SendPage() {
  const navigate = useNavigate();
  return (
    <Page
      title="Send a test email"
      back={<Back to="/emails">Emails</Back>}
      intro="Goes through the same queue, signing and delivery as the emails of your programs, and causes the same events."
    >
      <Card className="card" padding="lg" maw={640}>
        <SendForm withCheck onSent={(id) => void navigate({ to: "/emails/$id", params: { id } })} />
      </Card>
    </Page>
  );
}
