/** The page of a domain's pre-flight: a form for the sample, and the result of the check. */
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { Card, Checkbox, NativeSelect, Textarea } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { DeliverabilityService } from "../../../src/gen/v1/deliverability_pb.ts";
import { DomainService } from "../../../src/gen/v1/domain_pb.ts";
import { Form, formErrors, TextField } from "../parts/form.tsx";
import { AnchorLink } from "../parts/links.tsx";
import { Page } from "../parts/page.tsx";
import { Empty, Loading, ProblemAlert } from "../parts/states.tsx";
import { CheckResult } from "./result.tsx";

const route = getRouteApi("/domains/$id/deliverability");

export function DeliverabilityPage() {
  const { id } = route.useParams();
  const query = useQuery(DomainService.method.getDomain, { id });
  const domain = query.data?.domain;
  const name = domain?.domain ?? "domain";
  return (
    <Page
      title={domain ? `Deliverability of ${name}` : "Deliverability"}
      back={
        <nav className="crumbs" aria-label="Breadcrumb">
          <span aria-hidden="true">‹</span>
          <AnchorLink to="/domains/$id" params={{ id }} underline="hover" inherit>
            {name}
          </AnchorLink>
        </nav>
      }
      intro="Checks the domain and a sample email against what Gmail, Yahoo and Microsoft publish. Nothing is sent."
    >
      {domain && <PreFlight domainId={id} domain={name} />}
      {!domain &&
        (query.isPending ? (
          <Loading what="the domain" rows={4} />
        ) : (
          <ProblemAlert error={query.error} onRetry={() => void query.refetch()} />
        ))}
    </Page>
  );
}

const kinds = [
  { value: "none", label: "No sample: check the domain only" },
  { value: "content", label: "Subject and text" },
  { value: "sent", label: "An email that was sent" },
];

function PreFlight({ domainId, domain }: { domainId: string; domain: string }) {
  const [kind, setKind] = useState("none");
  const [from, setFrom] = useState(`news@${domain}`);
  const [subject, setSubject] = useState("");
  const [body, setBody] = useState("");
  const [html, setHtml] = useState("");
  const [topic, setTopic] = useState("");
  const [emailId, setEmailId] = useState("");
  const [bulk, setBulk] = useState(false);
  const check = useMutation(DeliverabilityService.method.checkDeliverability);
  const submit = () =>
    check.mutate({
      domainId,
      bulk,
      ...(kind === "content" && {
        email: { from, subject, body, html, ...(topic.trim() !== "" && { unsubscribe: { topic: topic.trim() } }) },
      }),
      ...(kind === "sent" && { emailId: emailId.trim() }),
    });
  const { fields, error } = formErrors(check.error);
  const shown = ["email.from", "email.subject", "email.body", "email.html", "email.unsubscribe.topic", "emailId"];
  const other = Object.keys(fields).some((field) => !shown.includes(field)) ? check.error : error;
  return (
    <>
      <Card className="card" padding="lg" maw={760}>
        <Form submitLabel="Check deliverability" isPending={check.isPending} error={other} onSubmit={submit}>
          <NativeSelect
            label="Sample"
            data={kinds}
            value={kind}
            onChange={(event) => setKind(event.currentTarget.value)}
          />
          {kind === "content" && (
            <>
              <TextField label="From" value={from} onChange={setFrom} error={fields["email.from"]} isCode isRequired />
              <TextField label="Subject" value={subject} onChange={setSubject} error={fields["email.subject"]} />
              <Textarea
                label="Text"
                value={body}
                onChange={(event) => setBody(event.currentTarget.value)}
                error={fields["email.body"]}
                rows={4}
              />
              <Textarea
                label="HTML"
                description="Optional."
                value={html}
                onChange={(event) => setHtml(event.currentTarget.value)}
                error={fields["email.html"]}
                rows={4}
                classNames={{ input: "mono" }}
              />
              <TextField
                label="Unsubscribe topic"
                description="Optional. What the recipient can unsubscribe from with one click, as in unsubscribe of SendEmail."
                placeholder="newsletter"
                value={topic}
                onChange={setTopic}
                error={fields["email.unsubscribe.topic"]}
                isCode
              />
            </>
          )}
          {kind === "sent" && (
            <TextField
              label="Id of the email"
              description="From its page or from the answer of SendEmail."
              placeholder="em_…"
              value={emailId}
              onChange={setEmailId}
              error={fields.emailId}
              isCode
              isRequired
            />
          )}
          <Checkbox
            label="Marketing or subscribed mail, or more than 5,000 messages a day"
            checked={bulk}
            onChange={(event) => setBulk(event.currentTarget.checked)}
          />
        </Form>
      </Card>
      {check.isPending && <Loading what="the checks" rows={6} />}
      {!check.isPending && check.data && <CheckResult result={check.data} />}
      {!check.isPending && !check.data && !check.error && (
        <Empty title="No check yet">
          The result will be here: each demand, whether it is met, and the record or the setting to change. A check
          takes up to ten seconds.
        </Empty>
      )}
    </>
  );
}
