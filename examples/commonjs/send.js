// Sends several emails in one call and prints the result of each. The SDK works with require, too.
const { Posthorn, PosthornError } = require("posthorn");

async function main() {
  const posthorn = new Posthorn();
  const from = process.env.FROM ?? "Shop <shop@example.test>";
  const customers = ["ada@there.test", "bob@there.test", "not an address"];
  const { data } = await posthorn.emails.sendBatch(
    customers.map((to) => ({ from, to, subject: "We have moved", body: "Our new address is 1 Main Street." })),
  );
  for (const [i, { id, error }] of data.entries())
    console.log(error ? `${customers[i]}: ${error.code}: ${error.message}` : `${customers[i]}: accepted as ${id}`);
}

main().catch((error) => {
  if (!(error instanceof PosthornError)) throw error;
  console.error(`Not sent: ${error.code}: ${error.message}`);
  process.exitCode = 1;
});
