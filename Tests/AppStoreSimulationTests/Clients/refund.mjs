// Sees a refund with Node alone. Usage: NODE_EXTRA_CA_CERTS=<ca_file> node refund.mjs READY.json
import { createPrivateKey, createPublicKey, sign, verify, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";

const ready = JSON.parse(readFileSync(process.argv[2], "utf8"));
const base64URL = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");

function token() {
  const now = Math.floor(Date.now() / 1000);
  const header = { alg: "ES256", kid: ready.key_id, typ: "JWT" };
  const claims = {
    iss: ready.issuer_id, iat: now, exp: now + 300, aud: "appstoreconnect-v1", bid: ready.bundle_id,
  };
  const text = `${base64URL(header)}.${base64URL(claims)}`;
  const key = { key: createPrivateKey(readFileSync(ready.key_file)), dsaEncoding: "ieee-p1363" };
  return `${text}.${sign("sha256", Buffer.from(text), key).toString("base64url")}`;
}

// The signature and the chain up to the simulator's root; Apple's markers are not looked at here.
function payload(jws) {
  const [header, body, signature] = jws.split(".");
  const { x5c } = JSON.parse(Buffer.from(header, "base64url"));
  const chain = x5c.map((entry) => new X509Certificate(Buffer.from(entry, "base64")));
  const root = new X509Certificate(readFileSync(ready.root_file));
  const key = { key: chain[0].publicKey, dsaEncoding: "ieee-p1363" };
  if (!chain[0].verify(chain[1].publicKey) || !chain[1].verify(createPublicKey(root.publicKey.export({ type: "spki", format: "pem" }))) ||
      !verify("sha256", Buffer.from(`${header}.${body}`), key, Buffer.from(signature, "base64url")))
    throw new Error("the signature does not hold");
  return JSON.parse(Buffer.from(body, "base64url"));
}

async function look(id) {
  const answer = await fetch(`${ready.endpoint}/inApps/v1/subscriptions/${id}`, {
    headers: { Authorization: `Bearer ${token()}` },
  });
  const entry = (await answer.json()).data[0].lastTransactions[0];
  console.log("status", entry.status, payload(entry.signedTransactionInfo).revocationType ?? "");
}

const customers = await (await fetch(`${ready.control}/_simulator/customers`)).json();
const id = customers.customers[0].purchases[0].original_transaction_id;
await look(id);
await fetch(`${ready.control}/_simulator/advance`, { method: "POST", body: '{"days": 2}' });
await look(id);
