import { generateKeyPairSync, sign } from 'node:crypto'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { auditHash, checkpointKeyId, checkpointText, genesisHash } from '../../../src/core/audit/index.ts'
import { auditRoutes, recordAudit } from '../../../src/daemon/audit/index.ts'
import { rolloutsRoutes } from '../../../src/daemon/rollouts/index.ts'
import { silentLogger } from '../../../src/node/index.ts'
import { anOperator } from '../../support/boxes-world.ts'
import { temporaryFolder, tenantry } from '../../support/command-line.ts'
import { emptyDatabase } from '../../support/databases.ts'
import { rolloutWorld } from '../../support/rollout-world.ts'
import { servedApp } from '../../support/served-app.ts'

// Exports the audit log of a rollout and verifies it on another machine with three files: export, checkpoints and public key.

/** Runs the CLI without a daemon. */
const offline = (...line: string[]) => tenantry(line, { answers: {} })

/** A daemon with a rollout that rolled one box back; writes the export, the checkpoints and the public key. */
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
    const ran = await offline('audit', 'verify', '--export', rollout, ...more, '--json')
    const { proofs, trust } = JSON.parse(ran.stdout)
    return { exit: ran.exit, asked: ran.asked.length, trust, ...proofs[0] }
  }
  const chain = `rollout:${id}`
  const lines = async () => (await readFile(rollout, 'utf8')).trim().split('\n')
  const rewrite = async (change: (lines: string[]) => string[]) => writeFile(rollout, `${change(await lines()).join('\n')}\n`)
  return { db, world, id, chain, rollout, file, typed, exported, kept, proof, lines, rewrite }
}

/** Rewrites the chain as an attacker with database access: new hashes from entry `from` on, and a new head. */
async function rewriteChain({ db, chain }: Awaited<ReturnType<typeof setUp>>, from: number): Promise<void> {
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

test('an export is verified without daemon and login: every entry and attempt, with signing key and time', async () => {
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
    evidence: { proved: 2, absent: 0, replaced: 0 },
  })
  expect(proof.proved).toMatchObject({ count: proof.entries, keyId: expect.stringMatching(/^[0-9a-f]{16}$/) })
  const shown = await offline('audit', 'verify', '--export', it.rollout, ...it.kept)
  expect(shown.stdout).toContain(`entries up to ${proof.entries} are unchanged since they were signed at`)
})

test('an attempt that a late result corrected is verified with its last evidence; the first one counts as replaced', async () => {
  const it = await setUp()
  const update = `${it.id}.beta.2.update`
  await it.typed('rollouts', 'resume', it.id)
  let late: unknown
  while (late === undefined) {
    await it.world.tick()
    for (const command of await it.world.open()) {
      if (command.id !== update) await it.world.work(command)
      else late = it.world.updated('beta', (command.payload as { targets: never }).targets)
    }
  }
  await it.world.refuse(update, 'INTERNAL', 'the agent stopped')
  await it.world.tick()
  await it.exported()
  expect(await it.proof(...it.kept)).toMatchObject({ exit: 0, ok: true, evidence: { proved: 3, absent: 0, replaced: 0 } })
  await it.world.clock.advance(60_000)
  await it.world.answer(update, late)
  expect(await it.world.statuses(it.id)).toMatchObject({ beta: 'succeeded' })
  await it.exported()
  expect(await it.proof(...it.kept)).toMatchObject({ exit: 0, ok: true, evidence: { proved: 3, absent: 0, replaced: 1 } })
  const shown = await offline('audit', 'verify', '--export', it.rollout, ...it.kept)
  expect(shown.stdout).toContain('the evidence of 1 attempt was replaced by a later result of its agent')
  expect((await it.typed('audit', 'verify')).exit).toBe(0)
})

test('entries after the checkpoint are reported as linked, not yet signed', async () => {
  const it = await setUp()
  const { entries } = await it.proof(...it.kept)
  await it.typed('rollouts', 'resume', it.id, '--skip-failed')
  await it.exported()
  expect(await it.proof(...it.kept)).toMatchObject({ ok: true, proved: { count: entries }, unsigned: 1 })
  const shown = await offline('audit', 'verify', '--export', it.rollout, ...it.kept)
  expect(shown.stdout).toContain('1 later entry linked, not yet signed')
})

test('a truncated chain is detected in the export and in the daemon', async () => {
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
  expect([online.exit, online.stdout]).toEqual([1, expect.stringContaining('it was truncated')])
  await it.rewrite((lines) => lines.filter((line) => !line.includes('"kind":"checkpoint"')))
  await it.rewrite((lines) =>
    lines.filter((line) => !(JSON.parse(line).seq > 5)).map((line) => line.replace(/"entries":\d+/, '"entries":5')),
  )
  await it.rewrite((lines) => lines.filter((line) => JSON.parse(line).kind !== 'evidence'))
  expect(await it.proof(...it.kept)).toMatchObject({ exit: 1, ok: false, brokenAt: 6, reason: expect.stringContaining('it was truncated') })
})

test('a rewritten chain is detected in the export and in the daemon', async () => {
  const it = await setUp()
  await rewriteChain(it, 3)
  expect((await it.typed('audit', 'verify')).exit).toBe(0) // all hashes are valid: the daemon alone cannot know
  const online = await it.typed('audit', 'verify', '--checkpoint', it.file('kept.jsonl'))
  expect([online.exit, online.stdout]).toEqual([1, expect.stringContaining('the chain was rewritten')])
  await it.exported()
  expect(await it.proof(...it.kept)).toMatchObject({ exit: 1, ok: false, reason: expect.stringContaining('the chain was rewritten') })
})

test('a log signed with another key is detected with the stored key', async () => {
  const it = await setUp()
  const other = generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' })
  await writeFile(it.file('other.pub'), other)
  const proof = await it.proof('--checkpoint', it.file('kept.jsonl'), '--public-key', it.file('other.pub'))
  expect(proof).toMatchObject({ exit: 1, ok: false, reason: expect.stringContaining('which is not trusted') })
  await it.rewrite(([header, ...lines]) => [JSON.stringify({ ...JSON.parse(header as string), publicKey: other }), ...lines])
  expect(await it.proof('--checkpoint', it.file('kept.jsonl'))).toMatchObject({ exit: 1, ok: false })
})

test('entries appended after a stored checkpoint and signed with a key from the export are not trusted', async () => {
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
  expect(proof).toMatchObject({ exit: 1, ok: false, reason: expect.stringContaining('which is not trusted') })
})

test('changed evidence of an attempt is detected', async () => {
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

test('without a stored checkpoint or key only the links are verified, and the output says so', async () => {
  const it = await setUp()
  const ran = await offline('audit', 'verify', '--export', it.rollout)
  expect([ran.exit, ran.stdout]).toEqual([0, expect.stringContaining('came with the log itself')])
  expect((await it.proof('--public-key', it.file('key.pub'))).trust).toBe('key')
})

test('a long admin log is exported page by page, up to its head at the start', async () => {
  const it = await setUp()
  await it.db.transaction().execute(async (tx) => {
    for (let n = 0; n < 1200; n++) await recordAudit(tx, it.world.clock, { actor: anOperator, action: 'test.act', data: { n } })
  })
  await it.typed('audit', 'checkpoint', '--out', it.file('kept.jsonl'))
  const ran = await it.typed('audit', 'export', 'admin', '--out', it.rollout, '--json')
  expect(JSON.parse(ran.stdout).entries).toBeGreaterThan(1200)
  expect(await it.proof(...it.kept)).toMatchObject({ exit: 0, ok: true, chain: 'admin', unsigned: 0 })
})

test('the daemon does not sign a chain that was rewritten after its last checkpoint', async () => {
  const it = await setUp()
  await rewriteChain(it, 2)
  await it.typed('rollouts', 'resume', it.id, '--skip-failed')
  const before = await readFile(it.file('audit-checkpoints.jsonl'), 'utf8')
  await it.typed('audit', 'checkpoint', '--chain', it.id)
  expect(await readFile(it.file('audit-checkpoints.jsonl'), 'utf8')).toBe(before)
})

test.each<[string, string[], RegExp]>([
  ['a missing file', ['verify', '--export', '/etc/no-such-export'], /cannot be read \(ENOENT\)/],
  ['a folder', ['verify', '--export', '/etc'], /cannot be read \(EISDIR\)/],
  ['a checkpoint file without checkpoints', ['verify', '--checkpoint', '/etc/hostname'], /contains no checkpoint/],
  ['a file without a key', ['verify', '--export', '/etc/hostname', '--public-key', '/etc/hostname'], /no Ed25519 public key/],
  ['a key alone', ['verify', '--public-key', '/etc/hostname'], /pass --checkpoint or --export/],
])('%s is a usage error', async (_, line, text) => {
  const ran = await offline('audit', ...line)
  expect([ran.exit, ran.stderr]).toEqual([2, expect.stringMatching(text)])
})
