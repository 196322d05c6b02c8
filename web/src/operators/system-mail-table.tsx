/** The table of system mail. A second row has what the receiver said, and replies. */
import { Button } from "@mantine/core";
import type { SystemMail } from "../../../src/gen/v1/operator_pb.ts";
import { outcomeLabel } from "../emails/outcomes.ts";
import { Mark } from "../parts/outcome.tsx";
import { LogTime, Time } from "../parts/time.tsx";
import "./system-mail.css";

type Props = { onLift(address: string): void };

export function SystemMailTable({ mails, onLift }: Props & { mails: readonly SystemMail[] }) {
  return (
    <div className="card">
      <table className="table system-mail" aria-label="System mail, newest first">
        <thead>
          <tr>
            <th scope="col">Outcome</th>
            <th scope="col">Recipient</th>
            <th scope="col">Subject</th>
            <th scope="col" className="end">
              Time
            </th>
          </tr>
        </thead>
        {mails.map((mail) => (
          <Row key={mail.id} mail={mail} onLift={onLift} />
        ))}
      </table>
    </div>
  );
}

function Row({ mail, onLift }: Props & { mail: SystemMail }) {
  const { text, tone, meaning } = outcomeLabel(mail.outcome);
  const hasRemark = mail.statusMessage !== "" || mail.suppressed || mail.replies.length > 0;
  return (
    <tbody>
      <tr>
        <td>
          <Mark tone={tone} title={meaning}>
            {text}
          </Mark>
        </td>
        <td className="key wrap">{mail.to}</td>
        <td className="wrap" dir="auto">
          {mail.subject}
        </td>
        <td className="end faint num">{mail.createdAt && <LogTime at={mail.createdAt} />}</td>
      </tr>
      {hasRemark && (
        <tr className="remark">
          <td />
          <td colSpan={3}>
            {mail.statusMessage !== "" && <p className="mono wrap">{mail.statusMessage}</p>}
            {mail.suppressed && (
              <p>
                The address is suppressed: it gets no more mail of this service.{" "}
                <Button
                  size="compact-xs"
                  variant="default"
                  onClick={() => onLift(mail.to)}
                  aria-label={`Remove suppression of ${mail.to}`}
                >
                  Remove suppression
                </Button>
              </p>
            )}
            {mail.replies.map((reply, n) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: replies have no id, and their order does not change
              <p key={n} className="wrap" dir="auto">
                <Mark tone="replied">{reply.autoSubmitted ? "Automatic reply" : "Reply"}</Mark>{" "}
                <span className="faint">
                  {reply.from} {reply.receivedAt && <Time at={reply.receivedAt} />}:
                </span>{" "}
                {reply.text === "" ? "(no text)" : reply.text}
              </p>
            ))}
          </td>
        </tr>
      )}
    </tbody>
  );
}
