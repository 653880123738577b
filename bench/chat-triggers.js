import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { sealOutputs } from '../dist/daemon/boxes/box-secrets.js'
import { openDatabase } from '../dist/daemon/db/index.js'
import { loadKeyring } from '../dist/daemon/sealed/index.js'
import { systemClock, systemRandom } from '../dist/node/index.js'
import { cpuSeconds, startDaemon, wait } from './daemon-process.js'
import { sized } from './size.js'

const tenants = sized(500, 5)
const chatPort = 18_442
const measureMs = sized(60_000, 500)
const messages = sized(20, 2)
const at = '2026-01-05T08:00:00.000Z'

/** Each tenant has an address of its own, as boxes have: a reader keeps one connection to each. */
const addressOf = (n) => `127.1.${Math.floor(n / 250)}.${1 + (n % 250)}`
const roomOf = (n) => `!staff:chat.school-${n}.example`
const numbers = Array.from({ length: tenants }, (_, n) => n)

const definition = {
  elements: [
    { id: 's', kind: 'start', label: 'Alarm', config: {} },
    { id: 'e', kind: 'end', label: 'End', config: {} },
  ],
  edges: [{ id: 'se', source: 's', target: 'e' }],
  triggers: [{ id: 'alarm', kind: 'chat', phrases: ['alarm'], room: 'space', cooldownMinutes: 0, textVariable: null }],
}

/** Tenants with a live box, a space with its room, a user, and a published board that the word alarm starts. */
async function seed({ databaseUrl, folder }) {
  const { db, close } = openDatabase(databaseUrl)
  const keyring = await loadKeyring({ random: systemRandom }, { dataDir: join(folder, 'data'), production: false })
  const deps = { clock: systemClock, random: systemRandom, keyring }
  const boxId = (id) => /** @type {import('../dist/core/boxes/index.js').BoxId} */ (id)
  await db.transaction().execute(async (tx) => {
    const into = (table, row) => tx.insertInto(table).values(row).execute()
    await into('hosts', {
      id: 'host_1',
      name: 'host-1',
      status: 'active',
      key_id: 'key-1',
      public_key: '{}',
      retired_instances: '[]',
      enrolled_at: at,
      key_since: at,
    })
    for (const n of numbers) {
      const [tenant_id, slug] = [`ten_${n}`, `school-${n}`]
      const made = { created_at: at, updated_at: at }
      await into('tenants', {
        id: tenant_id,
        slug,
        chat_domain: `chat.${slug}.example`,
        name: slug,
        plan: 'light',
        status: 'active',
        ...made,
      })
      await into('boxes', {
        ...{ id: `box_${n}`, tenant_id, host_id: 'host_1', slug, live: 1, managed: 1, canary: 0, fenced: 0, ownership_epoch: 1 },
        ...{ public_url: `https://chat.${slug}.example`, internal_url: `http://${addressOf(n)}:${chatPort}`, findings: '[]' },
        ...{ set_up_command: `cmd_${n}`, set_up_attempt: 1, installed_migrations_head: '0000', installed_postgres: '15' },
        ...{ installed_synapse: '1.157.1', installed_minio: '1', drift_severity: 'unknown', drift_revision: 0, created_at: at },
      })
      await sealOutputs({ ...deps, tx }, boxId(`box_${n}`), {
        edgeSecret: 'e'.repeat(40),
        appserviceToken: 'a'.repeat(40),
        registrationSharedSecret: 'r'.repeat(40),
      })
      await into('users', { id: `usr_${n}`, tenant_id, localpart: 'anna', roles: '["teacher"]', status: 'active', ...made })
      await into('spaces', {
        ...{ id: `spc_${n}`, tenant_id, name: 'Staff', type: 'STAFF', visibility: 'PRIVATE', revision: 1, chat_revision: 1 },
        ...{ chat_space_id: `!space${n}`, chat_room_id: roomOf(n), created_by: `usr_${n}`, ...made },
      })
      const board = {
        id: `brd_${n}`,
        tenant_id,
        space_id: `spc_${n}`,
        name: 'Crisis',
        description: '',
        status: 'active',
        version: 1,
        published_version: 1,
      }
      await into('boards', { ...board, created_by: `usr_${n}`, ...made })
      await into('board_versions', {
        board_id: `brd_${n}`,
        version: 1,
        tenant_id,
        definition: JSON.stringify(definition),
        saved_by: null,
        saved_at: at,
      })
      const [trigger] = definition.triggers
      await into('board_triggers', {
        board_id: `brd_${n}`,
        trigger_id: 'alarm',
        tenant_id,
        kind: 'chat',
        space_id: `spc_${n}`,
        config: JSON.stringify(trigger),
        roles: '[]',
      })
      await into('chat_readers', { tenant_id, read_from: at, revision: 1 })
    }
  })
  await close()
}

/** From a message to its run, for tenants in turn. */
async function latencies(chat, databaseUrl) {
  const { db, close } = openDatabase(databaseUrl)
  const found = []
  for (let n = 0; n < messages; n++) {
    const tenant = (n * 7) % tenants
    const { sent } = await sendMessage(chat, tenant)
    if (!sent) throw new Error(`nobody reads the messages of tenant ${tenant}`)
    const sentMs = performance.now()
    while (!(await db.selectFrom('runs').select('id').where('tenant_id', '=', `ten_${tenant}`).executeTakeFirst())) {
      if (performance.now() - sentMs > 30_000) throw new Error(`the message of tenant ${tenant} started no run`)
      await wait(5)
    }
    found.push(performance.now() - sentMs)
  }
  await close()
  return found.sort((a, b) => a - b)
}

async function sendMessage(chat, n) {
  for (let look = 0; look < 100; look++) {
    const answer = once(chat, 'message')
    chat.send({ address: addressOf(n), roomId: roomOf(n), sender: `@anna:chat.school-${n}.example` })
    const [message] = await answer
    if (message.sent) return message
    await wait(1_000)
  }
  return { sent: false }
}

/** Readers of 500 tenants whose users write now and then: what they cost, and how soon a message starts its run. */
export async function chatTriggers() {
  const chat = spawn(process.execPath, [fileURLToPath(new URL('./chat-triggers-server.js', import.meta.url)), String(chatPort)], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  await once(chat, 'message')
  let databaseUrl
  const daemon = await startDaemon(18_441, {
    seed: async (place) => {
      databaseUrl = place.databaseUrl
      await seed(place)
    },
  })
  try {
    await sendMessage(chat, tenants - 1) // the last tenant has a reader
    await wait(10_000)
    const [cpu, beginMs] = [cpuSeconds(daemon.pid), performance.now()]
    await wait(measureMs)
    const share = ((cpuSeconds(daemon.pid) - cpu) * 100_000) / (performance.now() - beginMs)
    const times = await latencies(chat, databaseUrl)
    const slowest = times.at(-1)
    return [
      {
        what: `${tenants} tenants with chat triggers, of one core`,
        measured: `${share.toFixed(1)} %`,
        reach: 'under 25 %',
        ok: share < 25,
      },
      {
        what: 'a message to the run it starts, slowest of 20',
        measured: `${Math.round(slowest)} ms`,
        reach: 'under 2,000 ms',
        ok: slowest < 2_000,
      },
    ]
  } finally {
    daemon.close()
    chat.kill('SIGKILL')
  }
}
