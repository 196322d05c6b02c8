/** The page of one email: what happened and what to do, the steps for each recipient, the content, and the ids last. */
import { getRouteApi } from "@tanstack/react-router";
import { useMemo } from "react";
import { type Email, RecipientStatus } from "../../../src/gen/v1/email_pb.ts";
import type { EventEntry } from "../../../src/gen/v1/event_pb.ts";
import { describe } from "../events/describe.ts";
import { Fresh, type FreshQuery } from "../parts/fresh.tsx";
import { Mark, Say } from "../parts/outcome.tsx";
import { Back, Page } from "../parts/page.tsx";
import { Loading, ProblemAlert } from "../parts/states.tsx";
import { WriteOnly } from "../shell/write-only.tsx";
import { CancelEmail } from "./cancel-email.tsx";
import { EmailContent } from "./content.tsx";
import { EmailDetails } from "./details.tsx";
import { explainEmail, factsOf } from "./explain.ts";
import { MoreActions } from "./more-actions.tsx";
import { isOpen } from "./outcomes.ts";
import { eventPollMs, useEmail, useEmailEvents } from "./queries.ts";
import { type RecipientStory, Recipients } from "./recipients.tsx";
import { RescheduleEmail } from "./reschedule-email.tsx";
import { ResendEmail } from "./resend-email.tsx";
import { RemoveSuppression, useSuppressions } from "./suppression.tsx";
import "./email.css";

const route = getRouteApi("/emails/$id");
const back = <Back to="/emails">Emails</Back>;

export function EmailPage() {
  const { id } = route.useParams();
  const query = useEmail(id);
  const email = query.data?.email;
  // The key remounts the page for another email, so that no state of the previous one stays.
  if (email) return <OneEmail key={id} email={email} query={query} />;
  return (
    <Page title="Email" back={back}>
      {query.isPending ? (
        <Loading what="the email" rows={3} height={180} />
      ) : (
        <ProblemAlert error={query.error} onRetry={() => void query.refetch()} />
      )}
    </Page>
  );
}

function OneEmail({ email, query }: { email: Email; query: FreshQuery }) {
  const state = [email.status, ...email.recipients.map(({ status, attempts }) => `${status} ${attempts}`)].join();
  const { events, isPending, error, refetch } = useEmailEvents(email.id, eventPollMs(isOpen(email.status)), state);
  const entriesBy = useMemo(() => byRecipient(events), [events]);
  const suppressions = useSuppressions(lookedUp(email, entriesBy));
  const stories = email.recipients.map((recipient): RecipientStory => {
    const entries = entriesBy.get(recipient.address) ?? [];
    const found = suppressions.get(recipient.address);
    const isSuppressed = found === undefined ? undefined : found !== null;
    const own = entries.flatMap(({ event }) => (event ? [event] : []));
    return { entries, suppression: found ?? null, facts: factsOf(email, recipient, own, isSuppressed) };
  });
  return (
    <Page
      title={email.subject || "(no subject)"}
      badge={
        <>
          {email.replied && <Mark tone="replied">Replied</Mark>}
          {email.test && <Mark tone="queued">Test</Mark>}
          <Fresh query={query} live />
        </>
      }
      back={back}
      actions={
        <>
          <WriteOnly>
            <RescheduleEmail email={email} />
            {isOpen(email.status) && <CancelEmail email={email} />}
            <ResendEmail email={email} />
          </WriteOnly>
          <MoreActions email={email} />
        </>
      }
    >
      {/* The reason is in the events. Without them the sentence would change a moment later. */}
      {!isPending && <Summary email={email} stories={stories} />}
      <div className="email">
        <div className="email-main">
          <Recipients
            email={email}
            stories={stories}
            events={events}
            isPending={isPending}
            error={error}
            onRetry={() => void refetch()}
          />
          <EmailContent email={email} />
        </div>
        <EmailDetails email={email} />
      </div>
    </Page>
  );
}

function Summary({ email, stories }: { email: Email; stories: readonly RecipientStory[] }) {
  const { tone, title, text } = explainEmail(
    stories.map(({ facts }) => facts),
    { replied: email.replied },
  );
  // With several recipients, each has its own button.
  const only = stories.length === 1 && stories[0]!.suppression;
  return (
    <Say tone={tone} title={title} action={only && <RemoveSuppression address={only.address} />}>
      {text}
    </Say>
  );
}

function byRecipient(events: readonly EventEntry[]): Map<string, EventEntry[]> {
  const found = new Map<string, EventEntry[]>();
  for (const entry of events) {
    if (!entry.event) continue;
    for (const address of describe(entry.event).recipients) found.set(address, [...(found.get(address) ?? []), entry]);
  }
  return found;
}

/** The recipients whose sentence depends on the suppression list. */
function lookedUp(email: Email, entriesBy: ReadonlyMap<string, EventEntry[]>): string[] {
  return email.recipients.flatMap(({ address, status }) => {
    const complained = entriesBy.get(address)?.some(({ event }) => event?.payload.case === "complained");
    const isStopped = status === RecipientStatus.BOUNCED || status === RecipientStatus.SUPPRESSED;
    return complained || isStopped ? [address] : [];
  });
}
