import { execFileSync } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { join } from 'node:path'
import { sealOutputs } from '../dist/daemon/boxes/box-secrets.js'
import { openDatabase } from '../dist/daemon/db/index.js'
import { loadKeyring } from '../dist/daemon/sealed/index.js'
import { systemClock, systemRandom } from '../dist/node/index.js'
import { startDaemon } from './daemon-process.js'
import { makeBox, readTestbed } from './real-box.js'
import { sized } from './size.js'

const [slug, chatDomain] = ['bench-login', 'bench-login.test']
const ports = { public: 18_451, platform: 18_452, probe: 18_453 }
const daemonPort = 18_454
const [users, rounds, most] = sized([8, 15, 1.1], [2, 1, 1.1])
const password = 'correct horse battery'
const what = ['login through the platform against a login at Synapse itself', 'the same, eight people at once']
const reach = `at most ${most} ×`
const at = '2026-01-05T08:00:00.000Z'
const nameOf = (user) => `user-${user}`

/** The same people log in through the daemon and at Synapse's own port, past edge and daemon, in turn. What checking the password takes is in both. */
export async function loginOverhead() {
  const testbed = readTestbed()
  if (!testbed) return what.map((one) => ({ what: one, measured: 'no test bed', reach, ok: undefined }))
  const box = await makeBox(testbed, { slug, chatDomain, ports })
  try {
    const synapse = `http://${await addressOf(testbed, box)}:8009`
    for (let user = 0; user < users; user++) await register(synapse, box.secrets.registrationSharedSecret, nameOf(user))
    const limits = { TENANTRY_LIMITS_PER_ADDRESS: '10000', TENANTRY_LIMITS_LOGINS_PER_ADDRESS: '10000' }
    const daemon = await startDaemon(daemonPort, { seed: (made) => seedTenant(made, box.secrets), settings: limits })
    try {
      return await compared({ platform: (user) => throughPlatform(daemon.url, user), direct: (user) => atSynapse(synapse, user) })
    } finally {
      daemon.close()
    }
  } finally {
    await box.remove()
  }
}

async function compared(ways) {
  for (const way of Object.values(ways)) for (let user = 0; user < users; user++) await way(user)
  const alone = (way) => (round) => timed(() => way(round % users))
  const together = (way) => () => timed(() => Promise.all(Array.from({ length: users }, (_, user) => way(user))))
  const rows = []
  for (const [n, many] of [alone, together].entries()) {
    const ratio = await ratioOf(many(ways.platform), many(ways.direct), n === 0 ? 4 * rounds : rounds)
    rows.push({ what: what[n], measured: `${ratio.toFixed(2)} ×`, reach, ok: ratio <= most })
  }
  return rows
}

const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)]

async function ratioOf(ours, theirs, count) {
  const spent = [[], []]
  for (let round = 0; round < count; round++) for (const at of round % 2 ? [0, 1] : [1, 0]) spent[at].push(await [ours, theirs][at](round))
  return median(spent[0]) / median(spent[1])
}

async function timed(work) {
  const begun = performance.now()
  await work()
  return performance.now() - begun
}

async function post(url, body) {
  const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
  const result = await answer.json()
  if (!answer.ok) throw new Error(`${url} answered ${answer.status} ${JSON.stringify(result)}`)
  return result
}

const throughPlatform = (url, user) =>
  post(`${url}/api/auth/v1/login`, { tenant: slug, username: nameOf(user), password, deviceName: 'Bench', issueRefreshToken: true })

const atSynapse = (url, user) =>
  post(`${url}/_matrix/client/v3/login`, {
    type: 'm.login.password',
    identifier: { type: 'm.id.user', user: nameOf(user) },
    password,
    initial_device_display_name: 'Bench',
  })

async function register(url, shared, username) {
  const { nonce } = await (await fetch(`${url}/_synapse/admin/v1/register`)).json()
  const mac = createHmac('sha1', shared).update([nonce, username, password, 'notadmin'].join('\0')).digest('hex')
  await post(`${url}/_synapse/admin/v1/register`, { nonce, username, password, admin: false, mac })
}

/** Of Synapse's container: reached past the edge. */
async function addressOf({ docker, dockerHost }, { engine, project }) {
  const { id } = (await engine.containers(project)).find(({ service }) => service === 'synapse')
  const form = '{{range .NetworkSettings.Networks}}{{.IPAddress}} {{end}}'
  const said = execFileSync(docker, ['inspect', '-f', form, id], { env: { DOCKER_HOST: dockerHost }, encoding: 'utf8' })
  return said.trim().split(' ')[0]
}

async function seedTenant({ databaseUrl, folder }, { edgeSecret, appserviceToken, registrationSharedSecret }) {
  const { db, close } = openDatabase(databaseUrl)
  const keyring = await loadKeyring({ random: systemRandom }, { dataDir: join(folder, 'data'), production: false })
  const deps = { clock: systemClock, random: systemRandom, keyring }
  const boxId = (id) => /** @type {import('../dist/core/boxes/index.js').BoxId} */ (id)
  const [tenant, id] = [`ten_${slug}`, `box_${slug}`]
  await db.transaction().execute(async (tx) => {
    /** @type {any} */
    const known = { slug, chat_domain: chatDomain, name: slug, plan: 'dedicated', status: 'active' }
    await tx
      .insertInto('tenants')
      .values({ id: tenant, ...known, created_at: at, updated_at: at })
      .execute()
    await tx
      .insertInto('boxes')
      .values({
        ...{ id, tenant_id: tenant, host_id: 'host_bench', slug, live: 1, managed: 1, canary: 0, fenced: 0, ownership_epoch: 1 },
        ...{ public_url: `http://127.0.0.1:${ports.public}`, internal_url: `http://127.0.0.1:${ports.platform}`, findings: '[]' },
        ...{ set_up_command: 'cmd_bench', set_up_attempt: 1, installed_migrations_head: '0000', installed_postgres: '15' },
        ...{ installed_synapse: '1.163.2', installed_minio: '1', drift_severity: 'unknown', drift_revision: 0, created_at: at },
      })
      .execute()
    await sealOutputs({ ...deps, tx }, boxId(id), { edgeSecret, appserviceToken, registrationSharedSecret })
  })
  await close()
}
