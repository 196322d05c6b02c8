// POST /orders sends an email.
import { Posthorn, PosthornError } from "posthorn";

export async function POST(request) {
  const { order, email } = await request.json();
  try {
    // Created here, so that `next build` needs no key.
    const posthorn = new Posthorn();
    const { id, status } = await posthorn.emails.send({
      from: process.env.FROM ?? "Shop <shop@example.test>",
      // One address, also if the request has a list.
      to: String(email),
      subject: `Your order ${order}`,
      body: "Thank you for your order.",
      async: true,
      // A second request for the same order does not send a second email.
      idempotencyKey: `order-${order}`,
    });
    return Response.json({ id, status }, { status: 201 });
  } catch (error) {
    if (!(error instanceof PosthornError) || error.code !== "invalid_argument") throw error;
    return Response.json({ error: error.message }, { status: 400 });
  }
}
