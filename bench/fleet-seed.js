import { generateKeyPairSync } from 'node:crypto'
import { calculateJwkThumbprint } from 'jose'
import { migrate, openDatabase } from '../dist/daemon/db/index.js'

const slugOf = (host, box) => `t${String(host).padStart(4, '0')}-${box}`

/** A fleet as it is after years: hosts that are enrolled, boxes that are live. Answers what the agents of the hosts need to be. */
export async function seedFleet(databaseUrl, daemonUrl, { hosts, boxesPerHost }) {
  const { db, close } = openDatabase(databaseUrl)
  await migrate(db)
  const at = new Date().toISOString()
  const agents = []
  await db.transaction().execute(async (tx) => {
    for (let host = 0; host < hosts; host++) {
      const made = await makeHost(host, daemonUrl)
      const boxes = Array.from({ length: boxesPerHost }, (_, box) => slugOf(host, box))
      await tx.insertInto('hosts').values(hostRow(made, at)).execute()
      await tx
        .insertInto('tenants')
        .values(boxes.map((slug) => tenantRow(slug, at)))
        .execute()
      await tx
        .insertInto('boxes')
        .values(boxes.map((slug) => boxRow(slug, made.hostId, at)))
        .execute()
      agents.push({ identity: made, slugs: boxes, boxIds: boxes.map((slug) => `box_${slug}`) })
    }
  })
  await close()
  return agents
}

// Exported afterwards, a key may stop the process for good: a collection in the middle of it waits for the key's lock, which the export holds.
/** @type {any} */
const encoded = { publicKeyEncoding: { format: 'jwk' }, privateKeyEncoding: { format: 'jwk' } }

async function makeHost(nth, daemonUrl) {
  const { kty, crv, x, d } = /** @type {any} */ (generateKeyPairSync('ed25519', encoded).privateKey)
  const name = `host-${String(nth).padStart(4, '0')}`
  return { hostId: `host_${nth}`, name, keyId: await calculateJwkThumbprint({ kty, crv, x }), daemonUrl, privateKey: { kty, crv, x, d } }
}

/** @returns {any} */
const hostRow = ({ hostId, name, keyId, privateKey: { kty, crv, x } }, at) => ({
  id: hostId,
  name,
  status: 'active',
  key_id: keyId,
  public_key: JSON.stringify({ kty, crv, x }),
  retired_instances: '[]',
  enrolled_at: at,
  key_since: at,
})

/** @returns {any} */
const tenantRow = (slug, at) => ({
  id: `ten_${slug}`,
  slug,
  chat_domain: `${slug}.example`,
  name: slug,
  plan: 'light',
  status: 'active',
  created_at: at,
})

/** @returns {any} */
const boxRow = (slug, hostId, at) => ({
  id: `box_${slug}`,
  tenant_id: `ten_${slug}`,
  host_id: hostId,
  slug,
  live: 1,
  managed: 1,
  canary: 0,
  fenced: 0,
  ownership_epoch: 1,
  public_url: `https://${slug}.example`,
  findings: '[]',
  set_up_command: `cmd_${slug}`,
  set_up_attempt: 1,
  installed_migrations_head: '0000',
  installed_postgres: '15.18',
  installed_synapse: '1.157.1',
  installed_minio: 'RELEASE.2025-09-07T16-13-09Z',
  drift_severity: 'unknown',
  drift_revision: 0,
  created_at: at,
})
