/** What happened to an email, for each of its recipients: the steps from accepted to final, with the receiver's words. */
import { timestampDate } from "@bufbuild/protobuf/wkt";
import type { Email } from "../../../src/gen/v1/email_pb.ts";
import type { EventEntry } from "../../../src/gen/v1/event_pb.ts";
import type { Suppression } from "../../../src/gen/v1/suppression_pb.ts";
import { describe } from "../events/describe.ts";
import { type Step, Steps, stepsOf, Timeline } from "../events/timeline.tsx";
import { AnchorLink } from "../parts/links.tsx";
import { Mark } from "../parts/outcome.tsx";
import { Section } from "../parts/page.tsx";
import { Loading, ProblemAlert } from "../parts/states.tsx";
import { explainRecipient, type RecipientFacts, rankOf, titleOf } from "./explain.ts";
import { useKeys } from "./key-names.ts";
import { RemoveSuppression } from "./suppression.tsx";

export type RecipientStory = { facts: RecipientFacts; entries: EventEntry[]; suppression: Suppression | null };

/** With more recipients than this, only those with a problem are open. */
const mostOpen = 6;

export function Recipients(props: {
  email: Email;
  stories: readonly RecipientStory[];
  events: readonly EventEntry[];
  isPending: boolean;
  error: unknown;
  onRetry(): void;
}) {
  const { email, stories, events, isPending, error, onRetry } = props;
  const accepted = useAcceptedStep(email);
  // Replies are about the email, not about one of its recipients.
  const replies = events.filter(({ event }) => event && describe(event).recipients.length === 0);
  return (
    <Section title="What happened">
      {Boolean(error) && <ProblemAlert error={error} onRetry={onRetry} />}
      {isPending && <Loading what="the events" rows={3} height={32} />}
      {!isPending && stories.length === 1 && (
        <Steps
          steps={[...accepted, ...stepsOfRecipient(stories[0]!)]}
          label={`Events of ${stories[0]!.facts.address}`}
        />
      )}
      {!isPending && stories.length > 1 && (
        <>
          <Steps steps={accepted} label="Events of the email" />
          <ul className="list recipients" aria-label="Recipients">
            {sorted(stories).map((story) => (
              <Recipient key={story.facts.address} story={story} isOpen={stories.length <= mostOpen} />
            ))}
          </ul>
        </>
      )}
      {replies.length > 0 && (
        <section className="replies" aria-label="Replies">
          <h3>Replies</h3>
          <Timeline entries={replies} label="Replies" />
        </section>
      )}
    </Section>
  );
}

function sorted(stories: readonly RecipientStory[]): RecipientStory[] {
  return stories.toSorted((a, b) => rankOf(explainRecipient(a.facts)) - rankOf(explainRecipient(b.facts)));
}

function Recipient({ story, isOpen }: { story: RecipientStory; isOpen: boolean }) {
  const { facts } = story;
  const explained = explainRecipient(facts);
  const isProblem = rankOf(explained) <= rankOf({ tone: "delayed" });
  return (
    <li>
      <details open={isOpen || isProblem}>
        <summary>
          <span className="wrap">{facts.address}</span>
          <Mark tone={explained.tone}>{explained.word}</Mark>
        </summary>
        <div className="recipient">
          <p className="wrap">
            <strong>{titleOf(explained)}.</strong> {explained.text}
          </p>
          {facts.isSuppressed && <RemoveSuppression address={facts.address} />}
          <Steps steps={stepsOfRecipient(story)} label={`Events of ${facts.address}`} />
        </div>
      </details>
    </li>
  );
}

/** How the email came to Posthorn. There is no event for it. */
function useAcceptedStep(email: Email): Step[] {
  const keys = useKeys(email.keyId !== "");
  const name = keys?.find(({ id }) => id === email.keyId)?.name;
  // A person who sends from the dashboard has no key: the id is then that of the sign-in, which says nothing to a reader.
  const by = name ? `from the key “${name}”` : "";
  const scheduled = email.scheduledAt;
  const isAhead = scheduled !== undefined && timestampDate(scheduled) > new Date();
  return [
    {
      key: "accepted",
      at: email.createdAt,
      tone: "queued",
      what: (
        <p>
          <strong>Accepted</strong> {by}
          {email.test && " as a test: nothing leaves this server"}
        </p>
      ),
    },
    ...(scheduled
      ? [
          {
            key: "scheduled",
            at: scheduled,
            tone: "queued" as const,
            isAhead,
            what: (
              <p>
                <strong>{isAhead ? "Due" : "Released"}</strong> at the scheduled time
              </p>
            ),
          },
        ]
      : []),
  ];
}

function stepsOfRecipient({ facts, entries, suppression }: RecipientStory): Step[] {
  const steps = stepsOf(entries);
  // Only if one of these events added the address. An older entry on the list is not a step of this email.
  if (suppression && entries.some(({ event }) => event?.id === suppression.sourceEventId))
    steps.push({
      key: "suppressed",
      at: suppression.createdAt,
      tone: "suppressed",
      what: (
        <p>
          <strong>Suppressed</strong> in this workspace:{" "}
          <AnchorLink to="/suppressions" search={{ q: facts.address }}>
            see the list
          </AnchorLink>
        </p>
      ),
    });
  if (facts.nextAttemptAt && facts.attempts > 0)
    steps.push({
      key: "next",
      at: undefined,
      tone: "queued",
      isAhead: true,
      what: (
        <p>
          <strong>Next attempt</strong> at {facts.nextAttemptAt.toLocaleString("en-GB")}, after {facts.attempts}{" "}
          {facts.attempts === 1 ? "attempt" : "attempts"}
        </p>
      ),
    });
  if (steps.length === 0)
    steps.push({
      key: "none",
      at: undefined,
      tone: "queued",
      isAhead: true,
      what: <p className="faint">No attempt yet. Events appear here by themselves.</p>,
    });
  return steps;
}
