import { mkdtemp } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ManifestGates } from '../../../src/core/boxes/index.ts'
import { manualClock } from '../../../src/core/kit/index.ts'
import { applyManifest } from '../../../src/daemon/boxes/index.ts'
import { migrate, openDatabase } from '../../../src/daemon/db/index.ts'
import { runProgram } from '../../../src/daemon/program/run-program.ts'
import { systemRandom } from '../../../src/node/index.ts'
import { aManifest } from '../../support/boxes.ts'
import { anOperator } from '../../support/boxes-world.ts'

let env: Record<string, string>
let server: Server | undefined
beforeEach(async () => {
  env = { TENANTRY_DATA_DIR: await mkdtemp(join(tmpdir(), 'tenantryd-')) }
})
afterEach(() => {
  server?.close()
})

async function checks() {
  const out: string[] = []
  await runProgram(['doctor', '--json'], {
    env,
    stdin: (async function* () {})(),
    stdout: { write: (text) => out.push(text) },
    stderr: { write: () => undefined },
    signal: new AbortController().signal,
    clock: manualClock(),
    random: systemRandom,
  })
  const found = JSON.parse(out.join('')).checks as { name: string; state: string; says: string; mend?: string }[]
  return found.filter(({ name }) => name === 'prometheus' || name === 'gates')
}

async function withGates(gates: ManifestGates) {
  const { db, close } = openDatabase(`sqlite:${join(env.TENANTRY_DATA_DIR as string, 'tenantry.db')}`)
  await migrate(db)
  await applyManifest({ db, clock: manualClock(), migrations: [] }, anOperator, { ...aManifest(), gates })
  await close()
}

async function prometheusSaying(results: Readonly<Record<string, readonly string[]>>) {
  const listening = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const values = results[new URLSearchParams(body).get('query') ?? '']
    const result = values?.map((value) => ({ metric: {}, value: [1, value] }))
    const answer = result ? { status: 'success', data: { resultType: 'vector', result } } : { status: 'error', error: 'parse error' }
    response.writeHead(result ? 200 : 400).end(JSON.stringify(answer))
  })
  await new Promise<void>((done) => listening.listen(0, '127.0.0.1', done))
  server = listening
  env.TENANTRY_PROMETHEUS_URL = `http://127.0.0.1:${(listening.address() as AddressInfo).port}`
}

test('says nothing where there is neither Prometheus nor a gate', async () => {
  expect(await checks()).toEqual([])
})

test('gates without an address of Prometheus keep rollouts from starting', async () => {
  await withGates({ errors: { query: 'errors', atMost: 1 } })
  expect(await checks()).toMatchObject([
    { name: 'gates', state: 'failed', says: expect.stringContaining('(errors)'), mend: expect.stringContaining('TENANTRY_PROMETHEUS_URL') },
  ])
})

test('asks Prometheus once, and each gate', async () => {
  await prometheusSaying({ 1: ['1'], errors: ['0.25'], boxes: ['1', '2'], none: [] })
  const gate = { atMost: 0.5, for: '10m' }
  const named = { errors: 'errors', boxes: 'boxes', typo: 'sum(', none: 'none' }
  await withGates(Object.fromEntries(Object.entries(named).map(([name, query]) => [name, { query, ...gate }])))
  expect(await checks()).toMatchObject([
    { name: 'gates', state: 'ok', says: 'errors: 0.25 now; must be at most 0.5 for 10 min' },
    {
      name: 'gates',
      state: 'warn',
      says: 'boxes: no answer (SEVERAL: 2 series match instead of one)',
      mend: expect.stringContaining('sum('),
    },
    { name: 'gates', state: 'failed', says: 'typo: no answer (REFUSED: parse error)', mend: expect.stringContaining('try the query') },
    { name: 'gates', state: 'warn', says: 'none: no answer (EMPTY: no series matches)', mend: expect.stringContaining('vector(0)') },
    { name: 'prometheus', state: 'ok', says: `${env.TENANTRY_PROMETHEUS_URL} answers` },
  ])
})

test('a Prometheus that is away is a failure with what to check', async () => {
  await prometheusSaying({})
  await new Promise((closed) => server?.close(closed))
  expect(await checks()).toMatchObject([
    {
      name: 'prometheus',
      state: 'failed',
      says: expect.stringContaining('ECONNREFUSED'),
      mend: expect.stringContaining('that Prometheus runs'),
    },
  ])
})
