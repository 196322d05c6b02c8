/** The webhooks of a workspace as a table. Each row leads to the page of its webhook. */
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { Link } from "@tanstack/react-router";
import type { Webhook } from "../../../src/gen/v1/webhook_pb.ts";
import { StatusBadge } from "../parts/icons.tsx";
import { Time } from "../parts/time.tsx";
import { formatEventTypes, webhookLabel } from "./labels.ts";
import "./webhooks.css";

export function WebhookTable({ webhooks }: { webhooks: readonly Webhook[] }) {
  return (
    <div className="card">
      <table className="table webhooks" aria-label="Webhooks, newest first">
        <thead>
          <tr>
            <th scope="col">State</th>
            <th scope="col">Endpoint</th>
            <th scope="col">Events</th>
            <th scope="col" className="end">
              Last success
            </th>
            <th scope="col" className="end">
              Last failure
            </th>
            <th scope="col" className="end">
              Failing since
            </th>
          </tr>
        </thead>
        <tbody>
          {webhooks.map((webhook) => (
            <WebhookRow key={webhook.id} webhook={webhook} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function WebhookRow({ webhook }: { webhook: Webhook }) {
  const { id, url, description, eventTypes, lastSuccessAt, lastFailureAt, failingSince } = webhook;
  const [first, ...others] = eventTypes;
  return (
    <tr className="link">
      <td>
        <StatusBadge of={webhookLabel(webhook)} />
      </td>
      <td className="key">
        <Link to="/webhooks/$id" params={{ id }} className="cut" title={url}>
          {url}
        </Link>
        {description !== "" && <span className="faint small cut">{description}</span>}
      </td>
      <td className="types" title={formatEventTypes(eventTypes)}>
        {first ?? "all events"}
        {others.length > 0 && <span className="faint"> and {others.length} more</span>}
      </td>
      <When name="Last success" at={lastSuccessAt} />
      <When name="Last failure" at={lastFailureAt} />
      <When name="Failing since" at={failingSince} />
    </tr>
  );
}

function When({ name, at }: { name: string; at: Timestamp | undefined }) {
  return (
    <td data-name={name} className={at ? "end" : "end none"}>
      {at ? <Time at={at} /> : <span className="faint">none</span>}
    </td>
  );
}
