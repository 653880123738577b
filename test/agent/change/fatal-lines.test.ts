import { describe, expect, test } from 'vitest'
import { exitReason, fatalLine } from '../../../src/agent/change/fatal-lines.ts'
import { aPayload, aWorld, newSynapse } from '../update/an-update.ts'

test.each([
  ['synapse', ' Cannot use this database as it is too new for the server to understand'],
  ['synapse', '    ValueError: Cannot use this database as it is too new for the server to understand'],
  ['synapse', "Error in configuration at 'listeners': must be a list"],
  ['postgres', '2026-11-22 09:00:00.000 UTC [1] FATAL:  database files are incompatible with server'],
  ['postgres', '2026-11-22 09:00:00.000 UTC [29] PANIC:  could not locate a valid checkpoint record'],
  ['postgres', '2026-11-22 09:00:00.000 UTC [1] FATAL:  data directory "/var/lib/postgresql/data" has wrong ownership'],
  ['minio', 'FATAL Unable to initialize backend: unsupported format'],
])('%s never comes up after: %s', (service, line) => {
  expect(fatalLine(service, `before\n${line}\nafter\n`)).toBe(line.trim())
})

test.each([
  ['postgres', '2026-11-22 09:00:00.000 UTC [31] FATAL:  the database system is starting up'],
  ['postgres', '2026-11-22 09:00:00.000 UTC [31] ERROR:  cannot execute INSERT in a read-only transaction'],
  ['synapse', '2026-11-22 09:00:00,000 - synapse.access.http - GET /_matrix/client/ModuleNotFoundError 404'],
  ['synapse', 'Upgrading database schema to v94'],
  ['synapse', "2026-11-22 09:00:00,000 - WARNING - Database has incorrect collation of 'en_US.utf8'. Should be 'C'"],
  [
    'synapse',
    '2026-11-22 09:00:00,000 - synapse.access.http - 200 "GET /versions" "Cannot use this database as it is too new for the server to understand"',
  ],
  ['postgres', '2026-11-22 09:00:00.000 UTC [31] PANIC:  could not write to file "pg_wal/xlogtemp.31": No space left on device'],
  [
    'postgres',
    "2026-11-22 09:00:00.000 UTC [31] STATEMENT:  INSERT INTO event_json VALUES ('FATAL:  database files are incompatible with server')",
  ],
  ['minio', 'ERROR Unable to validate credentials of a request'],
  ['edge', 'FATAL:  database files are incompatible with server'],
])('%s may still come up after: %s', (service, line) => {
  expect(fatalLine(service, line)).toBeUndefined()
})

test('one that has ended is asked for its reason, and then for its last line', () => {
  const panic = '2026-11-22 09:00:00.000 UTC [31] PANIC:  could not write to file "pg_wal/xlogtemp.31": No space left on device'
  expect(exitReason('postgres', `${panic}\nLOG:  database system is shut down\n`)).toBe(panic)
  expect(exitReason('synapse', 'one\ntwo \n\n')).toBe('two')
  expect(exitReason('synapse', '')).toBe('')
  expect(exitReason('synapse', ` Error during initialisation:\n    no password supplied\n${'*'.repeat(82)}\n`)).toBe('no password supplied')
})

test('what a database said that runs since before the change, it got over', async () => {
  const world = await aWorld()
  const longAgo = new Date(world.host.clock.now().getTime() - 3_600_000).toISOString()
  await world.host.clock.advance(600_000)
  const saidAt = world.host.clock.now().getTime()
  await world.host.clock.advance(1_000)
  world.inject({ kind: 'probe-fails', components: ['database'], image: newSynapse, times: 1 })
  let asked = 0
  const deps = await world.agent((ports) => ({
    ...ports,
    engine: {
      ...ports.engine,
      containers: async (project) =>
        (await ports.engine.containers(project)).map((one) => (one.service === 'postgres' ? { ...one, startedAt: longAgo } : one)),
      logs: async (id, lines, options) => {
        const one = (await ports.engine.containers(world.box.project)).find((container) => container.id === id)
        if (one?.service !== 'postgres') return ports.engine.logs(id, lines, options)
        asked += 1
        return Date.parse(options?.since ?? '') > saidAt ? '' : 'PANIC:  could not locate a valid checkpoint record\n'
      },
    },
  }))
  expect(await world.run(aPayload(), { deps })).toMatchObject({ outcome: 'committed' })
  expect(asked).toBeGreaterThan(0)
})

describe('an update whose new server prints what it will not get over, and goes on running', () => {
  const line = 'Cannot use this database as it is too new for the server to understand'
  /** The new Synapse never answers; `since` is what its log is asked from. */
  const ran = async (printed: string) => {
    const world = await aWorld()
    world.inject({ kind: 'probe-fails', components: ['chatApi'], image: newSynapse })
    let looks = 0
    const deps = await world.agent((ports) => ({
      ...ports,
      engine: {
        ...ports.engine,
        logs: async (id, lines, options) => {
          const synapse = (await ports.engine.containers(world.box.project)).find((one) => one.id === id && one.image === newSynapse)
          if (!synapse) return ports.engine.logs(id, lines, options)
          looks += 1
          return options?.since === synapse.startedAt ? `${printed}\n` : ''
        },
      },
    }))
    const result = await world.run(aPayload(), { deps })
    return { result, looks }
  }

  test('is taken back at once and not after half an hour, and says why', async () => {
    const { result } = await ran(line)
    expect(result).toMatchObject({ outcome: 'rolled_back', error: { code: 'PROBE_FAILED', message: expect.stringContaining(line) } })
    expect(result.probes.filter(({ verdict }) => verdict === 'failed').length).toBe(1)
  })

  test('one that prints anything else is given two minutes', async () => {
    const { result, looks } = await ran('Upgrading something')
    expect(result).toMatchObject({ outcome: 'rolled_back', error: { message: expect.stringContaining('in the same way for 2 min') } })
    expect(looks).toBeGreaterThan(1)
  })
})
