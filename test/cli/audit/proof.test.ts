import { generateKeyPairSync, sign } from 'node:crypto'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { auditHash, checkpointKeyId, checkpointText, genesisHash } from '../../../src/core/audit/index.ts'
import { auditRoutes, recordAudit } from '../../../src/daemon/audit/index.ts'
import { rolloutsRoutes } from '../../../src/daemon/rollouts/index.ts'
import { silentLogger } from '../../../src/node/index.ts'
import { anOperator } from '../../support/boxes-room.ts'
import { temporaryFolder, tenantry } from '../../support/command-line.ts'
import { emptyDatabase } from '../../support/databases.ts'
import { rolloutWorld } from '../../support/rollout-world.ts'
import { servedApp } from '../../support/served-app.ts'

// A rollout from its start to the proof that an auditor makes on another machine, with nothing but three files.

/** On a machine that reaches no daemon. */
const elsewhere = (...line: string[]) => tenantry(line, { answers: {} })

/** A daemon's rooms over HTTP, with a rollout of which one box was restored; all that an auditor wants is kept. */
async function setUp() {
  const { db } = await emptyDatabase('sqlite')
  const world = await rolloutWorld(db, [{ slug: 'acme', canary: true }, { slug: 'beta' }, { slug: 'gamma', plan: 'pro' }])
  world.fates.set('beta', ['rolls-back'])
  const folder = await temporaryFolder()
  const deps = { db, clock: world.clock, log: silentLogger(), dataDir: folder }
  const served = [...auditRoutes(deps), ...rolloutsRoutes(world.deps)]
  const { url } = await servedApp(served, { authenticate: { admin: async () => anOperator }, clock: world.clock })
  const id = await world.started()
  await world.settle()

  const file = (name: string) => join(folder, name)
  const typed = (...line: string[]) => tenantry(line, { url, clock: world.clock })
  const rollout = file('rollout.ndjson')
  const exported = () => typed('audit', 'export', id, '--out', rollout)
  expect((await typed('audit', 'checkpoint', '--out', file('kept.jsonl'))).exit).toBe(0)
  expect((await typed('audit', 'public-key', '--out', file('key.pub'))).exit).toBe(0)
  expect((await exported()).exit).toBe(0)
  const kept = ['--checkpoint', file('kept.jsonl'), '--public-key', file('key.pub')]
  const proof = async (...more: string[]) => {
    const ran = await elsewhere('audit', 'verify', '--export', rollout, ...more, '--json')
    const { proofs, trust } = JSON.parse(ran.stdout)
    return { exit: ran.exit, asked: ran.asked.length, trust, ...proofs[0] }
  }
  const chain = `rollout:${id}`
  const lines = async () => (await readFile(rollout, 'utf8')).trim().split('\n')
  const rewrite = async (change: (lines: string[]) => string[]) => writeFile(rollout, `${change(await lines()).join('\n')}\n`)
  return { db, world, id, chain, rollout, file, typed, exported, kept, proof, lines, rewrite }
}

/** As somebody who owns the database does it: every entry from `from` on with hashes of its own, and the head with them. */
async function writtenAnew({ db, chain }: Awaited<ReturnType<typeof setUp>>, from: number): Promise<void> {
  const rows = await db.selectFrom('audit').selectAll().where('chain', '=', chain).orderBy('seq').execute()
  let previousHash = genesisHash
  for (const row of rows) {
    const actor = row.seq >= from ? 'admin:mallory' : row.actor
    const { at, action, subject, seq } = row
    const hash = auditHash({ chain, seq, at, actor, action, subject, data: JSON.parse(row.data), previousHash })
    await db
      .updateTable('audit')
      .set({ actor, previous_hash: previousHash, hash })
      .where('chain', '=', chain)
      .where('seq', '=', seq)
      .execute()
    previousHash = hash
  }
  await db.updateTable('audit_heads').set({ hash: previousHash }).where('chain', '=', chain).execute()
}

test('a rollout is proved without daemon and login: every entry, every attempt, by which key and when it was signed', async () => {
  const it = await setUp()
  expect((await stat(it.rollout)).mode & 0o777).toBe(0o600)
  const proof = await it.proof(...it.kept)
  expect(proof).toMatchObject({
    exit: 0,
    asked: 0,
    trust: 'checkpoint',
    chain: it.chain,
    ok: true,
    unsigned: 0,
    evidence: { proved: 2, absent: 0 },
  })
  expect(proof.proved).toMatchObject({ count: proof.entries, keyId: expect.stringMatching(/^[0-9a-f]{16}$/) })
  const shown = await elsewhere('audit', 'verify', '--export', it.rollout, ...it.kept)
  expect(shown.stdout).toContain(`nothing up to entry ${proof.entries} was changed since it was signed at`)
})

test('entries after the checkpoint are told as linked and not yet signed', async () => {
  const it = await setUp()
  const { entries } = await it.proof(...it.kept)
  await it.typed('rollouts', 'resume', it.id, '--skip-failed')
  await it.exported()
  expect(await it.proof(...it.kept)).toMatchObject({ ok: true, proved: { count: entries }, unsigned: 1 })
  const shown = await elsewhere('audit', 'verify', '--export', it.rollout, ...it.kept)
  expect(shown.stdout).toContain('1 entry after that is linked, not yet signed')
})

test('a cut tail is found in the file and in the daemon', async () => {
  const it = await setUp()
  await it.db.deleteFrom('audit').where('chain', '=', it.chain).where('seq', '>', 5).execute()
  const { hash } = await it.db
    .selectFrom('audit')
    .select('hash')
    .where('chain', '=', it.chain)
    .where('seq', '=', 5)
    .executeTakeFirstOrThrow()
  await it.db.updateTable('audit_heads').set({ seq: 5, hash }).where('chain', '=', it.chain).execute()
  expect((await it.typed('audit', 'verify')).exit).toBe(0) // the daemon alone cannot know
  const online = await it.typed('audit', 'verify', ...it.kept)
  expect([online.exit, online.stdout]).toEqual([1, expect.stringContaining('its end was cut off')])
  await it.rewrite((lines) => lines.filter((line) => !line.includes('"kind":"checkpoint"')))
  await it.rewrite((lines) =>
    lines.filter((line) => !(JSON.parse(line).seq > 5)).map((line) => line.replace(/"entries":\d+/, '"entries":5')),
  )
  await it.rewrite((lines) => lines.filter((line) => JSON.parse(line).kind !== 'evidence'))
  expect(await it.proof(...it.kept)).toMatchObject({ exit: 1, ok: false, brokenAt: 6, reason: expect.stringContaining('cut off') })
})

test('a chain that was written anew from any entry on is found, in the file and in the daemon', async () => {
  const it = await setUp()
  await writtenAnew(it, 3)
  expect((await it.typed('audit', 'verify')).exit).toBe(0) // all hashes fit: the daemon alone cannot know
  const online = await it.typed('audit', 'verify', '--checkpoint', it.file('kept.jsonl'))
  expect([online.exit, online.stdout]).toEqual([1, expect.stringContaining('written anew')])
  await it.exported()
  expect(await it.proof(...it.kept)).toMatchObject({ exit: 1, ok: false, reason: expect.stringContaining('written anew') })
})

test('whoever signs anew with a key of their own is found by the key that was kept', async () => {
  const it = await setUp()
  const other = generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' })
  await writeFile(it.file('other.pub'), other)
  const proof = await it.proof('--checkpoint', it.file('kept.jsonl'), '--public-key', it.file('other.pub'))
  expect(proof).toMatchObject({ exit: 1, ok: false, reason: expect.stringContaining('not the one that is trusted') })
  await it.rewrite(([header, ...lines]) => [JSON.stringify({ ...JSON.parse(header as string), publicKey: other }), ...lines])
  expect(await it.proof('--checkpoint', it.file('kept.jsonl'))).toMatchObject({ exit: 1, ok: false })
})

test('what was written on behind a kept checkpoint and signed by a key that came with the file counts as nothing', async () => {
  const it = await setUp()
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  await it.rewrite(([first, ...others]) => {
    const header = JSON.parse(first as string)
    const entries = others.map((line) => JSON.parse(line)).filter(({ kind }) => kind === 'entry')
    const { kind: _, hash: previousHash, ...last } = entries.at(-1)
    const content = { ...last, seq: last.seq + 1, actor: 'admin:mallory', data: {}, previousHash }
    const entry = { kind: 'entry', ...content, hash: auditHash(content) }
    const head = { chain: it.chain, count: entry.seq, hash: entry.hash, at: '2026-01-06T02:00:00.000Z' }
    const keyId = checkpointKeyId(publicKey.export({ type: 'spki', format: 'der' }))
    const signature = sign(null, Buffer.from(checkpointText(head)), privateKey).toString('base64url')
    const both = `${header.publicKey}${publicKey.export({ type: 'spki', format: 'pem' })}`
    const lines = [
      { ...header, publicKey: both, entries: entry.seq },
      { kind: 'checkpoint', ...head, keyId, signature },
    ]
    return [...lines.map((line) => JSON.stringify(line)), ...others, JSON.stringify(entry)]
  })
  const proof = await it.proof('--checkpoint', it.file('kept.jsonl'))
  expect(proof).toMatchObject({ exit: 1, ok: false, reason: expect.stringContaining('not the one that is trusted') })
})

test('an attempt whose evidence was made better is found', async () => {
  const it = await setUp()
  await it.db
    .updateTable('rollout_attempts')
    .set({ digests_after: '{"synapse":"sha256:other"}' })
    .where('status', '=', 'succeeded')
    .execute()
  await it.exported()
  expect(await it.proof(...it.kept)).toMatchObject({ exit: 1, ok: false, reason: expect.stringContaining('evidence 1') })
  const online = await it.typed('audit', 'verify', '--checkpoint', it.file('kept.jsonl'), '--chain', it.id)
  expect([online.exit, online.stdout]).toEqual([1, expect.stringContaining('evidence 1')])
})

test('without anything that was kept elsewhere only the links are proved, and it is said so', async () => {
  const it = await setUp()
  const ran = await elsewhere('audit', 'verify', '--export', it.rollout)
  expect([ran.exit, ran.stdout]).toEqual([0, expect.stringContaining('came with the log itself')])
  expect((await it.proof('--public-key', it.file('key.pub'))).trust).toBe('key')
})

test('the log of the admins is exported page by page, and only to its head of then', async () => {
  const it = await setUp()
  await it.db.transaction().execute(async (tx) => {
    for (let n = 0; n < 1200; n++) await recordAudit(tx, it.world.clock, { actor: anOperator, action: 'test.act', data: { n } })
  })
  await it.typed('audit', 'checkpoint', '--out', it.file('kept.jsonl'))
  const ran = await it.typed('audit', 'export', 'admin', '--out', it.rollout, '--json')
  expect(JSON.parse(ran.stdout).entries).toBeGreaterThan(1200)
  expect(await it.proof(...it.kept)).toMatchObject({ exit: 0, ok: true, chain: 'admin', unsigned: 0 })
})

test('the daemon does not sign a log that no longer holds what it signed', async () => {
  const it = await setUp()
  await writtenAnew(it, 2)
  await it.typed('rollouts', 'resume', it.id, '--skip-failed')
  const before = await readFile(it.file('audit-checkpoints.jsonl'), 'utf8')
  await it.typed('audit', 'checkpoint', '--chain', it.id)
  expect(await readFile(it.file('audit-checkpoints.jsonl'), 'utf8')).toBe(before)
})

test.each<[string, string[], RegExp]>([
  ['a file that is not there', ['verify', '--export', '/etc/no-such-export'], /cannot be read \(ENOENT\)/],
  ['a folder', ['verify', '--export', '/etc'], /cannot be read \(EISDIR\)/],
  ['a checkpoint file without checkpoints', ['verify', '--checkpoint', '/etc/hostname'], /holds no checkpoint/],
  ['a key that is none', ['verify', '--export', '/etc/hostname', '--public-key', '/etc/hostname'], /no Ed25519 public key/],
  ['a key alone', ['verify', '--public-key', '/etc/hostname'], /give --checkpoint or --export/],
])('%s is said so', async (_, line, text) => {
  const ran = await elsewhere('audit', ...line)
  expect([ran.exit, ran.stderr]).toEqual([2, expect.stringMatching(text)])
})
