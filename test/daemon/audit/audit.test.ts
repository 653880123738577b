import { createPublicKey, verify } from 'node:crypto'
import { mkdtemp, readFile, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Checkpoint, checkpointText } from '../../../src/core/audit/index.ts'
import { manualClock, type SystemActor } from '../../../src/core/kit/index.ts'
import { checkpointAudit, checkpointHandler, checkpointTopic, recordAudit, requestCheckpoint } from '../../../src/daemon/audit/index.ts'
import { listAudit, verifyAudit } from '../../../src/daemon/audit/read-audit.ts'

import type { Db } from '../../../src/daemon/db/index.ts'
import { drainJobs } from '../../../src/daemon/work/index.ts'
import { silentLogger } from '../../../src/node/index.ts'
import { onBothDialects } from '../../support/databases.ts'

const clock = manualClock()
const actor: SystemActor = { kind: 'system', name: 'test' }
const write = (db: Db, action: string, more: { subject?: string; chain?: string } = {}) =>
  db.transaction().execute((tx) => recordAudit(tx, clock, { actor, action, data: { nested: { b: 1, a: [true] } }, ...more }))
const writeMany = async (db: Db, count: number) => {
  for (let n = 1; n <= count; n++) await write(db, `act.${n}`)
}

onBothDialects('the audit log', (fresh) => {
  test('a log of several pages and chains is verified up to its heads', async () => {
    const db = await fresh()
    await writeMany(db, 205)
    await write(db, 'rollout.paused', { chain: 'rollout:1' })
    expect(await verifyAudit({ db }, {})).toMatchObject([
      { chain: 'admin', entries: 205, ok: true, head: { seq: 205 } },
      { chain: 'rollout:1', entries: 1, ok: true },
    ])
  })

  test('verifying an unknown chain is 404', async () => {
    const db = await fresh()
    await write(db, 'act')
    expect(await verifyAudit({ db }, { chain: 'admin' })).toMatchObject([{ entries: 1, ok: true }])
    await expect(verifyAudit({ db }, { chain: 'rollout:2' })).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: expect.stringContaining('rollout:2'),
    })
    await db.deleteFrom('audit_heads').execute()
    expect(await verifyAudit({ db }, { chain: 'admin' })).toMatchObject([{ ok: false }])
  })

  test('several entries of one transaction are linked in order, and so are entries before and after', async () => {
    const db = await fresh()
    await write(db, 'before')
    const acts = Array.from({ length: 20 }, (_, n) => ({ actor, action: `act.${n}` }))
    await db.transaction().execute(async (tx) => {
      for (const act of acts) await recordAudit(tx, clock, act)
    })
    await write(db, 'after')
    expect(await verifyAudit({ db }, {})).toMatchObject([{ chain: 'admin', entries: 22, ok: true, head: { seq: 22 } }])
    const entries = await db.selectFrom('audit').select(['action', 'at']).orderBy('seq').execute()
    expect(entries.map(({ action }) => action)).toEqual(['before', ...acts.map(({ action }) => action), 'after'])
    expect(entries[1]?.at).toBe(clock.now().toISOString())
  })

  test('concurrent appends keep one unbroken chain', async () => {
    const db = await fresh()
    await Promise.all(Array.from({ length: 40 }, (_, n) => write(db, `act.${n}`)))
    expect(await verifyAudit({ db }, {})).toMatchObject([{ entries: 40, ok: true }])
  })

  test('a rolled back action leaves no entry', async () => {
    const db = await fresh()
    await write(db, 'first')
    await expect(
      db.transaction().execute(async (tx) => {
        await recordAudit(tx, clock, { actor, action: 'second' })
        throw new Error('the act failed')
      }),
    ).rejects.toThrow('the act failed')
    expect(await verifyAudit({ db }, {})).toMatchObject([{ entries: 1, ok: true }])
  })

  const tampering: Record<string, [(db: Db) => Promise<unknown>, number]> = {
    'a changed entry': [(db) => db.updateTable('audit').set({ actor: 'admin:mallory' }).where('seq', '=', 3).execute(), 3],
    'an entry cut out': [(db) => db.deleteFrom('audit').where('seq', '=', 3).execute(), 3],
    'unreadable data': [(db) => db.updateTable('audit').set({ data: '{' }).where('seq', '=', 3).execute(), 3],
    'a cut end': [(db) => db.deleteFrom('audit').where('seq', '>', 3).execute(), 4],
    'a head set back': [(db) => db.updateTable('audit_heads').set({ seq: 4 }).execute(), 4],
    'a head set back, with the hash of then': [
      async (db) => {
        const { hash } = await db.selectFrom('audit').select('hash').where('seq', '=', 3).executeTakeFirstOrThrow()
        await db.updateTable('audit_heads').set({ seq: 3, hash }).execute()
      },
      4,
    ],
    'a head taken away': [(db) => db.deleteFrom('audit_heads').execute(), 1],
  }
  test.each(Object.keys(tampering))('verify detects %s', async (kind) => {
    const db = await fresh()
    await writeMany(db, 5)
    const [tamper, brokenAt] = tampering[kind] as (typeof tampering)[string]
    await tamper(db)
    expect(await verifyAudit({ db }, {})).toMatchObject([{ chain: 'admin', ok: false, brokenAt }])
  })

  test('the list is newest first, in pages, by exact filter or prefix', async () => {
    const db = await fresh()
    await writeMany(db, 5)
    await write(db, 'box.added', { subject: 'north' })
    const first = await listAudit({ db }, { chain: 'admin', limit: 4 })
    expect(first.entries.map(({ seq }) => seq)).toEqual([6, 5, 4, 3])
    const second = await listAudit({ db }, { chain: 'admin', limit: 4, cursor: Number(first.nextCursor) })
    expect([second.entries.map(({ seq }) => seq), second.nextCursor]).toEqual([[2, 1], null])
    expect((await listAudit({ db }, { chain: 'admin', limit: 9, action: 'act.*' })).entries).toHaveLength(5)
    expect((await listAudit({ db }, { chain: 'admin', limit: 9, action: 'act.1' })).entries).toHaveLength(1)
    expect((await listAudit({ db }, { chain: 'admin', limit: 9, subject: 'nor*', actor: 'system:test' })).entries).toHaveLength(1)
    expect((await listAudit({ db }, { chain: 'admin', limit: 9, action: '%' })).entries).toHaveLength(0)
  })

  test('the list of a day begins with its first moment and ends before the next', async () => {
    const db = await fresh()
    const clock = manualClock('2026-01-04T23:59:59.999Z')
    for (const ms of [1, 86_399_999, 1]) {
      await db.transaction().execute((tx) => recordAudit(tx, clock, { actor, action: `at.${clock.now().toISOString()}` }))
      await clock.advance(ms)
    }
    await db.transaction().execute((tx) => recordAudit(tx, clock, { actor, action: 'next day' }))
    const day = { since: '2026-01-05T00:00:00.000Z', until: '2026-01-06T00:00:00.000Z' }
    const { entries } = await listAudit({ db }, { chain: 'admin', limit: 9, ...day })
    expect(entries.map(({ at }) => at)).toEqual(['2026-01-05T23:59:59.999Z', '2026-01-05T00:00:00.000Z'])
  })

  test('a checkpoint requested in a transaction is signed and appended once', async () => {
    const db = await fresh()
    const dataDir = await mkdtemp(join(tmpdir(), 'tenantry-audit-'))
    const deps = { db, clock, log: silentLogger(), dataDir }
    await writeMany(db, 2)
    await db.transaction().execute((tx) => requestCheckpoint(tx, clock))
    await drainJobs({ ...deps, handlers: { [checkpointTopic]: checkpointHandler(deps) } })
    expect(await checkpointAudit(deps)).toEqual([])
    await write(db, 'third')
    expect(await checkpointAudit(deps)).toMatchObject([{ chain: 'admin', count: 3 }])

    const lines = (await readFile(join(dataDir, 'audit-checkpoints.jsonl'), 'utf8')).trim().split('\n')
    const checkpoints = lines.map((line) => JSON.parse(line) as Checkpoint)
    const publicKey = createPublicKey(await readFile(join(dataDir, 'audit-checkpoint.key.pub'), 'utf8'))
    const holds = (one: Checkpoint) => verify(null, Buffer.from(checkpointText(one)), publicKey, Buffer.from(one.signature, 'base64url'))
    expect(checkpoints.map(({ count }) => count)).toEqual([2, 3])
    expect(checkpoints.map(holds)).toEqual([true, true])
    expect(holds({ ...(checkpoints[0] as Checkpoint), count: 1 })).toBe(false)
    expect((await stat(join(dataDir, 'audit-checkpoint.key'))).mode & 0o777).toBe(0o600)
  })

  test('each new head is reported once, and so is a log that differs from its signed heads', async () => {
    const db = await fresh()
    const dataDir = await mkdtemp(join(tmpdir(), 'tenantry-audit-'))
    const told: unknown[] = []
    const signed = async ({ count }: Checkpoint) => void told.push(['signed', count])
    const broken = async (facts: unknown) => void told.push(['broken', facts])
    const deps = { db, clock, log: silentLogger(), dataDir, signed, broken }
    await writeMany(db, 3)
    await checkpointAudit(deps)
    await checkpointAudit(deps)
    await db.deleteFrom('audit').where('seq', '>', 1).execute()
    const { hash } = await db.selectFrom('audit').select('hash').executeTakeFirstOrThrow()
    await db.updateTable('audit_heads').set({ seq: 1, hash }).execute()
    await checkpointAudit(deps)
    await writeMany(db, 5)
    expect(await checkpointAudit(deps)).toEqual([])
    const facts = { chain: 'admin', count: 3, at: expect.any(String) }
    expect(told).toEqual([
      ['signed', 3],
      ['broken', facts],
      ['broken', facts],
    ])
  })

  test('a head signed by a process that died before reporting it is reported by the next one', async () => {
    const db = await fresh()
    const dataDir = await mkdtemp(join(tmpdir(), 'tenantry-audit-'))
    const deps = { db, clock, log: silentLogger(), dataDir }
    await writeMany(db, 2)
    const died = async () => Promise.reject(new Error('killed'))
    await expect(checkpointHandler({ ...deps, signed: died })({ chain: 'admin' }, { last: false })).rejects.toThrow('killed')
    const told: number[] = []
    await checkpointHandler({ ...deps, signed: async ({ count }) => void told.push(count) })({ chain: 'admin' }, { last: false })
    expect(told).toEqual([2])
  })

  test('a log that matches its signed heads again is reported too', async () => {
    const db = await fresh()
    const dataDir = await mkdtemp(join(tmpdir(), 'tenantry-audit-'))
    const told: string[] = []
    const broken = async () => void told.push('broken')
    const whole = async (chain: string) => void told.push(`${chain} is whole`)
    const deps = { db, clock, log: silentLogger(), dataDir, broken, whole }
    await writeMany(db, 2)
    await checkpointAudit(deps)
    const { hash } = await db.selectFrom('audit').select('hash').where('seq', '=', 2).executeTakeFirstOrThrow()
    await db.updateTable('audit_heads').set({ hash: 'x' }).execute()
    await db.updateTable('audit').set({ hash: 'x' }).where('seq', '=', 2).execute()
    await checkpointAudit(deps)
    await db.updateTable('audit_heads').set({ hash }).execute()
    await db.updateTable('audit').set({ hash }).where('seq', '=', 2).execute()
    await checkpointAudit(deps)
    await write(db, 'third')
    await checkpointAudit(deps)
    expect(told).toEqual(['broken', 'admin is whole', 'admin is whole'])
  })

  test('two concurrent first signatures use one key', async () => {
    const db = await fresh()
    const dataDir = await mkdtemp(join(tmpdir(), 'tenantry-audit-'))
    const deps = { db, clock, log: silentLogger(), dataDir }
    await writeMany(db, 1)
    await write(db, 'act', { chain: 'rollout:1' })
    const both = await Promise.all(['admin', 'rollout:1'].map((chain) => checkpointAudit(deps, { chain })))
    expect(new Set(both.flat().map(({ keyId }) => keyId)).size).toBe(1)
  })
})
