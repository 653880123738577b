import { execa } from 'execa'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { dockerEnvironment } from '../testbed/testbed.ts'
import { type Fleet, logOnFailure, startFleet } from './support/fleet.ts'
import { eventually } from './support/programs.ts'

// An operator measures the services of a real box, follows its logs and restarts one of its services.

const slug = 'kita-protokoll'
let fleet: Fleet

beforeAll(async () => {
  fleet = await startFleet()
  await fleet.applySynapse('1.163.2')
  await fleet.provision(slug, 'light')
})
logOnFailure(() => fleet)
afterAll(() => fleet?.end())

const docker = async (...args: string[]) => (await execa('docker', args, { env: dockerEnvironment(fleet.testbed) })).stdout

const containerOf = (service: string) =>
  docker(
    ...['ps', '--all', '--quiet', '--filter', `label=com.docker.compose.project.working_dir=${fleet.boxFolder(slug)}`],
    ...['--filter', `label=com.docker.compose.service=${service}`],
  )

/** The database logs the name of a role that does not exist. */
const write = async (text: string) =>
  execa('docker', ['exec', await containerOf('postgres'), 'psql', '--username', text, 'postgres'], {
    ...{ env: dockerEnvironment(fleet.testbed), reject: false, stdin: 'ignore' },
  })

/** Follows as an operator until the signal; `seenMs` is when a text came. */
async function follow(signal: AbortSignal) {
  const seen: { text: string; atMs: number }[] = []
  const query = { services: 'synapse,postgres', lines: 0 }
  const stream = await fleet.api.boxes.followLogs({ params: { slug }, query }, { signal })
  const reading = (async () => {
    for await (const { data } of stream) for (const { text } of data.lines) seen.push({ text, atMs: Date.now() })
  })().catch(() => undefined)
  return { seen, reading }
}

test('a line that a container writes is seen within three seconds, and a secret in it is not', async () => {
  const stop = new AbortController()
  const { seen, reading } = await follow(stop.signal)
  const lineOf = (text: string) => seen.find((line) => line.text.includes(text))
  const begun = async () => {
    await write('begin')
    return lineOf('"begin"') !== undefined
  }
  await eventually('the agent reads', begun, { timeoutMs: 30_000 })
  const writtenMs = Date.now()
  await write('marked access_token=abcdefghijklmnop')
  await eventually('the line is seen', async () => lineOf('marked access_token=[secret]') !== undefined, { timeoutMs: 30_000, everyMs: 50 })
  expect((lineOf('marked access_token')?.atMs ?? 0) - writtenMs).toBeLessThan(3_000)
  expect(seen.some(({ text }) => text.includes('abcdefghijklmnop'))).toBe(false)
  stop.abort()
  await reading
})

test('the command line shows the newest lines with a text, without the secret', async () => {
  const { stdout } = await fleet.must('boxes', 'logs', slug, '--service', 'postgres', '--tail', '500', '--grep', 'MARKED ACCESS')
  const lines = stdout.trim().split('\n')
  expect(lines.length).toBeGreaterThan(0)
  for (const line of lines) expect(line).toMatch(/ postgres .*marked access_token=\[secret\]/)
})

test('the services are measured', async () => {
  const { services } = JSON.parse((await fleet.must('boxes', 'services', slug, '--json')).stdout)
  expect(services.map(({ service }: { service: string }) => service).sort()).toEqual(['edge', 'minio', 'postgres', 'synapse'])
  for (const one of services) {
    expect(one).toMatchObject({ state: 'running', cpuPercent: expect.any(Number) })
    expect(one.memoryBytes).toBeGreaterThan(1_000_000)
  }
})

test('one service is restarted, the others are not, and the box is never down', async () => {
  const startedAt = async () => {
    const { services } = JSON.parse((await fleet.must('boxes', 'services', slug, '--json')).stdout)
    return Object.fromEntries(services.map((one: { service: string; startedAt: string }) => [one.service, one.startedAt]))
  }
  const before = await startedAt()
  const states = new Set<string | undefined>()
  let isOver = false
  const watching = (async () => {
    while (!isOver) {
      states.add((await fleet.api.boxes.showBox({ params: { slug } })).health?.state)
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
  })()
  await fleet.must('boxes', 'restart', slug, '--service', 'synapse', '--reason', 'memory', '--yes')
  isOver = true
  await watching
  const { synapse, ...others } = await startedAt()
  expect(synapse).not.toBe(before.synapse)
  expect(others).toEqual({ edge: before.edge, postgres: before.postgres, minio: before.minio })
  expect(states.has('down')).toBe(false)
})
